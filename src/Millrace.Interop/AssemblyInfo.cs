using System.Runtime.CompilerServices;

// All signatures are blittable: the generated stubs are plain calls.
[assembly: DisableRuntimeMarshalling]
