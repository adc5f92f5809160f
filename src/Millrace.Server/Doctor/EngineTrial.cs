using Millrace.Engine;

namespace Millrace.Server.Doctor;

/// <summary>
/// Starts and stops the engine, once on io_uring and once as it would start by itself. What a kernel or a sandbox says of itself is
/// not asked: only what is tried is known to work, limits on memory and descriptors included.
/// </summary>
internal static class EngineTrial
{
    public static async Task<EngineFacts> RunAsync()
    {
        (string? uring, string? uringRefusal) = await StartAsync(BackendKind.IoUring);
        (string? backend, string? refusal) = uring is null ? await StartAsync(BackendKind.Auto) : (uring, null);
        return new EngineFacts(backend, uringRefusal, refusal);
    }

    private static async Task<(string? Backend, string? Refusal)> StartAsync(BackendKind kind)
    {
        try
        {
            await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Backend = kind });
            return (group.BackendName, null);
        }
        catch (EngineException refusal)
        {
            return (null, refusal.Message);
        }
    }
}
