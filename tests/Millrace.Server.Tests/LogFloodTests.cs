using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Events that clients can cause at will do not fill the log: they are logged once, or summed up.</summary>
public sealed class LogFloodTests : IDisposable
{
    private readonly TempFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_root_that_cannot_be_read_is_logged_once_and_not_for_each_request()
    {
        const int Requests = 300;
        Directory.CreateDirectory(_folder.PathOf("site"));
        _folder.WriteText("site/a.txt", "a");
        await using ServerProcess server =
            await ServerProcess.StartAsync(_folder.PathOf("site"), "--listen", "127.0.0.1:0", "--watch", "revalidate");

        Directory.Move(_folder.PathOf("site"), _folder.PathOf("gone"));
        using Wire wire = Wire.Open(server.Url);
        for (int i = 0; i < Requests; i++)
        {
            Assert.Equal("a", Encoding.UTF8.GetString(wire.Ask("/a.txt").Body));
        }

        await server.AwaitErrorAsync("failed; keeping the previous files");
        Assert.Equal(1, server.CountErrors("failed; keeping the previous files"));
        Directory.Move(_folder.PathOf("gone"), _folder.PathOf("site"));
        Assert.Equal(200, wire.Ask("/a.txt").Status);
        await server.AwaitErrorAsync("succeeded again");
        Assert.Equal(1, server.CountErrors("succeeded again"));
    }
}
