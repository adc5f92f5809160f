using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests;

/// <summary>A certificate authority's validations, whose answers may be found later.</summary>
public class ChallengeTests : SiteFixture
{
    private const string Prefix = "/.well-known/acme-challenge/";

    private readonly TaskCompletionSource<ReadOnlyMemory<byte>> _found = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _seeking = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<string> _sought = [];

    public ChallengeTests() => Challenges = token =>
    {
        _sought.Add(token);
        _seeking.TrySetResult();
        return token == "later" ? new(_found.Task) : new(token == "now" ? "proof"u8.ToArray() : default(ReadOnlyMemory<byte>));
    };

    [Fact]
    public async Task What_is_found_at_once_is_answered_before_the_site()
    {
        Folder.Add(Prefix + "now", "of the site"u8.ToArray());
        byte[] other = Folder.Add(Prefix + "other", "of the site"u8.ToArray());
        Wire wire = await (await StartAsync()).ConnectAsync();
        Response response = await wire.GetAsync(Prefix + "now");
        response.AssertIsWhole("proof"u8.ToArray());
        Assert.Equal("application/octet-stream", response.Field("Content-Type"));
        (await wire.GetAsync(Prefix + "other")).AssertIsWhole(other);
        Assert.Equal(404, (await wire.GetAsync(Prefix + "none")).Status);
        Assert.Equal(["now", "other", "none"], _sought);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_is_found_later_delays_its_request_only(bool exists)
    {
        Folder.Add("/a.txt", "of the site"u8.ToArray());
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"GET {Prefix}later HTTP/1.1\r\nHost: a\r\n\r\n");
        await _seeking.Task.WaitAsync(TimeSpan.FromSeconds(30));
        Assert.Equal(200, (await (await site.ConnectAsync()).GetAsync("/a.txt")).Status);

        _found.SetResult(exists ? "proof"u8.ToArray() : default(ReadOnlyMemory<byte>));
        Response response = await wire.ReadResponseAsync();
        Assert.Equal(exists ? 200 : 404, response.Status);
        Assert.Equal(200, (await wire.GetAsync("/a.txt")).Status);
        Assert.Equal(["later"], _sought);
    }

    [Fact]
    public async Task Over_http2_it_delays_its_stream_only()
    {
        Folder.Add("/a.txt", "of the site"u8.ToArray());
        Http2Wire client = await Http2Wire.OpenAsync(await StartAsync());
        await client.SendAsync(Frame.Headers(1, Block.Get(Prefix + "later")));
        Assert.Equal(200, (await client.GetAsync(3, "/a.txt")).Status);
        _found.SetResult("proof"u8.ToArray());
        (await client.ReadResponseAsync(1)).AssertIsWhole("proof"u8.ToArray());
    }
}
