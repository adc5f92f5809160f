using Millrace.Engine;

namespace Millrace.Server.Doctor;

/// <summary>What came of starting the engine here, with all its reactors.</summary>
/// <param name="Told">The backend that was asked for.</param>
/// <param name="Backend">How it asks the kernel, told so; null where it does not start.</param>
/// <param name="UringRefusal">Why io_uring is not to be had, as the engine says it: cause, colon, remedy. Null where it works.</param>
/// <param name="StartRefusal">Why it does not start at all, said the same way; null where it does.</param>
internal sealed record EngineFacts(BackendKind Told, string? Backend, string? UringRefusal, string? StartRefusal);
