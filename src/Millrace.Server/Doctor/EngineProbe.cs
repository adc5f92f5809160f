using Millrace.Engine;

namespace Millrace.Server.Doctor;

/// <summary>
/// Starts and stops the engine with the configured options; with backend auto, once with io_uring and, if that fails, once with the
/// fallback. It does not rely on what the kernel or a sandbox reports: only a start proves that everything works, including limits on
/// memory and descriptors.
/// </summary>
internal static class EngineProbe
{
    /// <param name="configured">The options that a server would be started with.</param>
    public static async Task<EngineFacts> RunAsync(EngineOptions configured)
    {
        if (configured.Backend != BackendKind.Auto)
        {
            (string? only, string? no) = await StartAsync(configured);
            return new EngineFacts(configured.Backend, only, null, no);
        }

        (string? uring, string? uringRefusal) = await StartAsync(configured with { Backend = BackendKind.IoUring });
        (string? backend, string? refusal) = uring is null ? await StartAsync(configured) : (uring, null);
        return new EngineFacts(configured.Backend, backend, uringRefusal, refusal);
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
