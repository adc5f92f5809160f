using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>Bodies that pass a filter, as those over TLS do.</summary>
public class FilterTests : SiteFixture
{
    /// <param name="receiveBufferBytes">Small: of most sends a part waits for the client.</param>
    [Theory]
    [InlineData(0)]
    [InlineData(4096)]
    public async Task Every_size_arrives_whole_in_every_order(int receiveBufferBytes)
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectStagedAsync(receiveBufferBytes);
        Http2Wire client = await Http2Wire.OpenOnAsync(wire, opensWindows: true);
        int[] sizes = [.. SiteFolder.Sizes, .. SiteFolder.Sizes.Reverse()];
        await client.SendAsync([.. sizes.Select(static (size, n) =>
            Frame.Headers((2 * n) + 1, Block.Get(SiteFolder.Target(size), n % 3 == 0 ? "priority: i" : "x: y")))]);
        for (int n = 0; n < sizes.Length; n++)
        {
            (await client.ReadResponseAsync((2 * n) + 1)).AssertIsWhole(SiteFolder.Bytes(sizes[n]));
        }
    }
}
