using System.Runtime.CompilerServices;

// Every signature here is blittable: the generated stubs are plain calls.
[assembly: DisableRuntimeMarshalling]
