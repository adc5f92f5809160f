using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>A disk that fails under a file that is served.</summary>
public class DiskFaultTests : SiteFixture
{
    /// <summary>Not kept in memory, and read after its head.</summary>
    private const int Size = 100_000;

    [Theory]
    [InlineData("")]
    [InlineData("Range: bytes=1000-1999\r\n")]
    [InlineData("Range: bytes=0-\r\n")]
    public async Task A_read_that_fails_before_the_head_is_sent_is_answered_500(string fields)
    {
        Folder.AddSized(Size);
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync();
        (await wire.GetAsync(SiteFolder.Target(Size))).AssertIsWhole(SiteFolder.Bytes(Size));
        Assert.Equal(1, BadDisk.Fail(Folder.PathOf(SiteFolder.Target(Size))));

        await wire.SendAsync(
            "GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n" + $"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        Response response = await wire.ReadResponseAsync();
        Assert.Equal(500, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        Assert.Null(response.Field("ETag"));
        Assert.Equal("500 Internal Server Error\r\n", response.Text);
        await wire.AssertEndsAsync();
        Assert.Contains("Input/output error", Assert.Single(site.TakeWarnings()), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_disk_that_fails_again_and_again_is_logged_once_in_a_while()
    {
        Folder.AddSized(Size);
        RunningSite site = await StartAsync();
        Assert.Equal(1, BadDisk.Fail(Folder.PathOf(SiteFolder.Target(Size))));

        for (int i = 0; i < 50; i++)
        {
            using Wire wire = await site.ConnectAsync();
            Assert.Equal(500, (await wire.GetAsync(SiteFolder.Target(Size))).Status);
        }

        Assert.Equal(50, site.Group.Reactors[0].Counters.FileFaults);
        Assert.Single(site.TakeWarnings());
    }
}
