n(n#kept0
.CppExtension([".cu"]))