using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>
/// Files so large that all but their ends are sent by reference: whole and in parts, next to copies of the same; and written over while
/// their own pages are on the way.
/// </summary>
public class LargeFileTests : SiteFixture
{
    private const int Size = 72 * 1024 * 1024;

    private static readonly byte[] Content = SiteFolder.Bytes(Size);
    private static readonly byte[] Other = SiteFolder.Bytes(Size + 1)[1..];

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(true)]
    [InlineData(false)]
    public async Task It_arrives_whole_and_the_next_response_follows(bool sendFile)
    {
        Wire wire = await ServeAsync(sendFile);
        for (int i = 0; i < 2; i++)
        {
            (await wire.GetAsync(SiteFolder.Target(Size))).AssertIsWhole(Content);
            (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Theory]
    [InlineData(1, Size - 2)]
    [InlineData(5_000_000, Size - 1)]
    [InlineData(0, 39_000_000)]
    public async Task A_part_is_exactly_the_bytes_asked_for(int first, int last)
    {
        Wire wire = await ServeAsync();
        await wire.SendAsync($"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\nRange: bytes={first}-{last}\r\n\r\n");
        Response part = await wire.ReadResponseAsync();
        Assert.Equal(206, part.Status);
        Assert.True(part.Body.AsSpan().SequenceEqual(Content.AsSpan(first, last - first + 1)));
        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Of_several_parts_each_may_be_sent_so()
    {
        Wire wire = await ServeAsync();
        await wire.SendAsync(
            $"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\nRange: bytes=7-40000006,50000000-50000009,51000000-{Size - 1}\r\n\r\n");
        Response response = await wire.ReadResponseAsync();
        Assert.Equal(206, response.Status);
        ReadOnlySpan<byte> body = response.Body;
        foreach ((int first, int last) in new[] { (7, 40_000_006), (50_000_000, 50_000_009), (51_000_000, Size - 1) })
        {
            int start = body.IndexOf("\r\n\r\n"u8) + 4;
            Assert.True(body.Slice(start, last - first + 1).SequenceEqual(Content.AsSpan(first, last - first + 1)));
            body = body[(start + last - first + 1)..];
        }
    }

    /// <summary>
    /// The writer comes early, while the client has its own kernel's queue full of pages, and when the server is done with it: what the
    /// client takes for whole is one version.
    /// </summary>
    [Theory]
    [InlineData(0)]
    [InlineData(20_000_000)]
    [InlineData(Size - 20_000_000)]
    [InlineData(Size - 3_000_000)]
    [Trait("Duration", "Full")]
    public async Task Written_over_while_its_pages_are_on_the_way_it_does_not_look_whole(int readBefore)
    {
        Wire wire = await ServeAsync(receiveBufferBytes: 4 * 1024 * 1024);
        await wire.SendAsync($"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        _ = await wire.ReadHeadAsync();
        byte[] before = await wire.ReadBytesAsync(readBefore);
        // Sleeps: the pages are in the kernel's socket by then.
        await Task.Delay(200);
        Folder.Overwrite(SiteFolder.Target(Size), Other);

        (byte[] got, WireEnd end) = await wire.ReadToEndAsync();

        Assert.True(before.AsSpan().SequenceEqual(Content.AsSpan(0, readBefore)));
        if (end == WireEnd.Reset)
        {
            Assert.InRange(readBefore + got.Length, 0, Size - 1);
        }
        else
        {
            Assert.True(got.AsSpan().SequenceEqual(Content.AsSpan(readBefore)), "It looks whole, and is a mixture.");
        }
    }

    /// <summary>A log, say: what was announced of it is sent, by reference or, if it was written to just now, as copies.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(3600)]
    public async Task One_that_grows_arrives_as_announced(int ageSeconds)
    {
        Wire wire = await ServeAsync(age: TimeSpan.FromSeconds(ageSeconds));
        await wire.SendAsync($"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await wire.ReadHeadAsync();
        Folder.SetLength(SiteFolder.Target(Size), Size + 5);
        Assert.Equal($"{Size}", head.Field("Content-Length"));
        Assert.True((await wire.ReadBytesAsync(Size)).AsSpan().SequenceEqual(Content));
    }

    [Fact]
    public async Task A_client_that_goes_away_leaves_nothing_behind()
    {
        Folder.AddSized(1000);
        AddLarge();
        RunningSite site = await StartAsync(options => options with { DescriptorsMax = 0 });
        for (int i = 0; i < 10; i++)
        {
            Wire wire = await site.ConnectAsync();
            await wire.SendAsync($"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\n\r\n");
            _ = await wire.ReadHeadAsync();
            _ = await wire.ReadBytesAsync(i * 7_000_000);
            wire.Reset();
        }

        // The fixture looks for descriptors, blocks and leases that are still out.
    }

    /// <summary>As a rule as old as one that nobody is at.</summary>
    private void AddLarge(TimeSpan? age = null)
    {
        Folder.Add(SiteFolder.Target(Size), Content);
        File.SetLastWriteTimeUtc(Folder.PathOf(SiteFolder.Target(Size)), DateTime.UtcNow - (age ?? TimeSpan.FromHours(1)));
    }

    private async Task<Wire> ServeAsync(bool sendFile = true, int receiveBufferBytes = 0, TimeSpan? age = null)
    {
        Folder.AddSized(1000);
        AddLarge(age);
        return await (await StartAsync(options => options with { SendFile = sendFile })).ConnectAsync(receiveBufferBytes);
    }
}
