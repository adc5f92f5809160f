using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>A file that is opened for one response counts for its client until that answer has ended, however it ends.</summary>
public class HeldFileTests : SiteFixture
{
    private const int LargeBytes = 16 * 1024 * 1024;
    private const int SmallBytes = 10_000;

    [Theory]
    [InlineData("GET", LargeBytes, "", 200)]
    [InlineData("GET", LargeBytes, "Range: bytes=7-1000000", 206)]
    [InlineData("GET", LargeBytes, "Range: bytes=0-99,1000000-1000099", 206)]
    [InlineData("GET", LargeBytes, "Range: bytes=99999999-", 416)]
    [InlineData("GET", LargeBytes, "If-None-Match: *", 304)]
    [InlineData("HEAD", LargeBytes, "", 200)]
    [InlineData("GET", SmallBytes, "", 200)]
    [InlineData("GET", SmallBytes, "Range: bytes=7-1000", 206)]
    [InlineData("HEAD", SmallBytes, "", 200)]
    public async Task It_counts_no_more_after_the_response(string method, int size, string field, int status)
    {
        RunningSite site = await StartOnDemandAsync();
        Wire wire = await site.ConnectAsync();
        string line = field.Length == 0 ? "" : field + "\r\n";
        for (int i = 0; i < 3; i++)
        {
            await wire.SendAsync($"{method} {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n{line}\r\n");
            Assert.Equal(status, (await wire.ReadResponseAsync(method)).Status);
            await AssertHoldsAsync(site, 0);
        }
    }

    [Fact]
    public async Task It_counts_no_more_when_it_was_another_than_its_head_said()
    {
        RunningSite site = await StartOnDemandAsync();
        byte[] now = SiteFolder.Bytes(SmallBytes + 5);
        Folder.Add(SiteFolder.Target(SmallBytes), now);
        Wire wire = await site.ConnectAsync();

        (await wire.GetAsync(SiteFolder.Target(SmallBytes))).AssertIsWhole(now);
        await AssertHoldsAsync(site, 0);
    }

    [Theory]
    [InlineData("")]
    [InlineData("Range: bytes=1-16000000\r\n")]
    [InlineData("Range: bytes=0-9000000,9500000-16000000\r\n")]
    public async Task It_counts_while_the_client_reads_nothing_and_no_more_when_it_is_gone(string field)
    {
        RunningSite site = await StartOnDemandAsync();
        Wire other = await site.ConnectAsync();
        await other.GetAsync(SiteFolder.Target(SmallBytes));
        Wire[] stalled = [await site.ConnectAsync(4096), await site.ConnectAsync(4096)];
        foreach (Wire wire in stalled)
        {
            await wire.SendAsync($"GET {SiteFolder.Target(LargeBytes)} HTTP/1.1\r\nHost: a\r\n{field}\r\n");
            _ = await wire.ReadHeadAsync();
        }

        await AssertHoldsAsync(site, 2);
        stalled[0].Reset();
        await AssertHoldsAsync(site, 1);
        stalled[1].Reset();
        await AssertHoldsAsync(site, 0);
    }

    private Task<RunningSite> StartOnDemandAsync()
    {
        Folder.AddSized(LargeBytes);
        Folder.AddSized(SmallBytes);
        return StartAsync(
            static options => options with { DescriptorsMax = 0, CacheFileBytesMax = 1000 },
            engine: new EngineOptions { Reactors = 1 });
    }

    /// <summary>Waits until the only client has so many, which is soon.</summary>
    private static async Task AssertHoldsAsync(RunningSite site, int files)
    {
        Reactor reactor = site.Group.Reactors[0];
        int held = -1;
        for (int attempt = 0; attempt < 1_000 && held != files; attempt++)
        {
            await Task.Delay(attempt > 0 ? 5 : 0);
            var response = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            reactor.Post(_ => response.SetResult(reactor.Accounts.LargestByDescriptors().OpenFiles), null);
            held = await response.Task.WaitAsync(TimeSpan.FromSeconds(60));
        }

        Assert.Equal(files, held);
    }
}
