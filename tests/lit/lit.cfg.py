"""lit configuration: run by ctest, or by hand with
lit --param tools=build/bin --param llvm_tools=/usr/lib/llvm-19/bin tests/lit/ir"""
import os

import lit.formats

config.name = "tcc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("work", os.path.join(config.test_source_root, "Output"))
root = os.path.dirname(os.path.dirname(config.test_source_root))
tools = [os.path.abspath(lit_config.params.get(name, default))
         for name, default in (("tools", os.path.join(root, "build", "bin")), ("llvm_tools", "/usr/lib/llvm-19/bin"))]
config.environment["PATH"] = os.pathsep.join(tools + [os.environ.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
