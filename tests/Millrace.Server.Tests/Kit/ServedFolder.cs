using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace Millrace.Server.Tests.Kit;

/// <summary>A file that is sent from memory and one that goes in chunks, for whoever changes how a server does either.</summary>
[SupportedOSPlatform("linux")]
internal static class ServedFolder
{
    /// <summary>One that <see cref="Nobody"/> may serve, too.</summary>
    public static TempFolder Make()
    {
        var folder = new TempFolder();
        File.SetUnixFileMode(folder.Root, Nobody.ForAll);
        folder.Add("text.txt", 100);
        folder.Add("large.bin", 3_000_000);
        return folder;
    }

    public static void AssertServed(ServerProcess server, TempFolder folder) => Assert.All((string[])["text.txt", "large.bin"], name =>
        Assert.Equal(File.ReadAllBytes(folder.PathOf(name)), Wire.Get(server.Url, $"/{name}").Body));

    /// <summary>Stops the server, which must have logged no warning.</summary>
    public static async Task AssertEndsWellAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.DoesNotContain("warn:", await server.ErrorAsync(), StringComparison.Ordinal);
    }
}
