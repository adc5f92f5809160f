namespace Millrace.Server.Doctor;

/// <summary>What came of starting the engine here, with all its reactors.</summary>
/// <param name="Backend">How it asks the kernel if nothing else is told; null where it does not start.</param>
/// <param name="UringRefusal">Why io_uring is not to be had, as the engine says it: cause, colon, remedy. Null where it works.</param>
/// <param name="StartRefusal">Why it does not start at all, said the same way; null where it does.</param>
internal sealed record EngineFacts(string? Backend, string? UringRefusal, string? StartRefusal);
