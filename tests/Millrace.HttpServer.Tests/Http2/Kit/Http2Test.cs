using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests.Http2.Kit;

/// <summary>A test of what a server does with frames.</summary>
public abstract class Http2Test : SiteFixture
{
    /// <summary>Kept in memory, and sent with its head.</summary>
    internal const string Small = "/f1000.bin";

    /// <summary>Of a size that no first window lets through.</summary>
    internal const string Large = "/f200000.bin";

    internal const int LargeBytes = 200_000;

    private protected RunningSite Site { get; private set; } = null!;

    private protected async Task<Http2Wire> OpenAsync(
        HttpServerLimits? limits = null, bool opensWindows = true, params (SettingId Id, uint Value)[] settings)
    {
        Folder.AddSized(1000);
        Folder.AddSized(LargeBytes);
        Site = await StartAsync(limits: limits);
        return await Http2Wire.OpenAsync(Site, opensWindows, 0, settings);
    }

    /// <summary>Asserts that these frames end the connection with this error.</summary>
    private protected async Task AssertFailsAsync(Http2Error error, params byte[][] frames)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(frames);
        await client.AssertFailsAsync(error);
    }

    /// <summary>Asserts that these frames end one stream with this error, and nothing else.</summary>
    private protected async Task AssertResetsAsync(int streamId, Http2Error error, params byte[][] frames)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(frames);
        await client.AssertResetsAsync(streamId, error);
    }

    /// <summary>Asserts that these frames do no harm.</summary>
    private protected async Task AssertIgnoresAsync(params byte[][] frames)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(frames);
        (await client.GetAsync(1001, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }
}
