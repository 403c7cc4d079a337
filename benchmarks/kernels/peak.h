// The float32 FMA rate of one core, from a loop that touches registers only.
#pragma once

double MeasurePeakGflops();
