using System.Runtime.InteropServices;

namespace Millrace.Server.Tests.Kit;

/// <summary>A server with a configuration file, which SIGHUP makes it read again.</summary>
internal sealed class ConfiguredServer : IAsyncDisposable
{
    private const string Applied = " applied: ";
    private const string AppliedInPart = " applied, but ";
    private const string Kept = "Reload failed; keeping the current configuration";

    private readonly TempFolder _folder;

    private ConfiguredServer(TempFolder folder, ServerProcess process)
    {
        _folder = folder;
        Process = process;
    }

    public ServerProcess Process { get; }

    /// <param name="text">The file, in a folder of its own.</param>
    /// <param name="start">Starts a server with these flags and waits until it serves; null for the usual way.</param>
    public static async Task<ConfiguredServer> StartAsync(string text, Func<string[], Task<ServerProcess>>? start = null)
    {
        var folder = new TempFolder();
        try
        {
            folder.WriteText("m.json", text);
            return new ConfiguredServer(folder, await (start ?? ServerProcess.StartAsync)(["--config", folder.PathOf("m.json")]));
        }
        catch
        {
            folder.Dispose();
            throw;
        }
    }

    /// <summary>Writes another file, reloads, and waits until it is applied.</summary>
    public Task ReloadAsync(string text) => ReportAsync(text, Applied);

    /// <summary>Writes another file, reloads, and waits until it is applied except for what could not be read again.</summary>
    public Task ReloadInPartAsync(string text) => ReportAsync(text, AppliedInPart);

    /// <summary>Writes another file, reloads, and waits until it is refused.</summary>
    public Task RefuseAsync(string text) => ReportAsync(text, Kept);

    /// <summary>Has it end in order, and gives all that it said on stderr.</summary>
    public async Task<string> StopAsync()
    {
        Process.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await Process.ExitCodeAsync());
        return await Process.ErrorAsync();
    }

    private async Task ReportAsync(string text, string response)
    {
        int before = Process.CountErrors(response);
        _folder.WriteText("m.json", text);
        Process.Signal(PosixSignal.SIGHUP);
        await Process.AwaitErrorAsync(response, before + 1);
    }

    public async ValueTask DisposeAsync()
    {
        await Process.DisposeAsync();
        _folder.Dispose();
    }
}
