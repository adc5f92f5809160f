using Millrace.Engine;

namespace Millrace.Server.Doctor;

/// <summary>
/// Starts and stops the engine as it was told, and where that leaves the backend open once on io_uring and once as it would start by
/// itself. What a kernel or a sandbox says of itself is not asked: only what is tried is known to work, limits on memory and descriptors
/// included.
/// </summary>
internal static class EngineTrial
{
    /// <param name="told">What a server would be started with.</param>
    public static async Task<EngineFacts> RunAsync(EngineOptions told)
    {
        if (told.Backend != BackendKind.Auto)
        {
            (string? only, string? no) = await StartAsync(told);
            return new EngineFacts(told.Backend, only, null, no);
        }

        (string? uring, string? uringRefusal) = await StartAsync(told with { Backend = BackendKind.IoUring });
        (string? backend, string? refusal) = uring is null ? await StartAsync(told) : (uring, null);
        return new EngineFacts(told.Backend, backend, uringRefusal, refusal);
    }

    private static async Task<(string? Backend, string? Refusal)> StartAsync(EngineOptions options)
    {
        try
        {
            await using ReactorGroup group = await ReactorGroup.StartAsync(options);
            return (group.BackendName, null);
        }
        catch (EngineException refusal)
        {
            return (null, refusal.Message);
        }
    }
}
