using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Which response goes first (RFC 9218), when the connection lets little through at a time.</summary>
public class PriorityTests : SiteFixture
{
    private const int Size = 300_000;

    public PriorityTests() => CarriesHttps = static _ => true;

    [Theory]
    [Trait("Rfc", "9218-10")]
    [InlineData("u=5", "u=1", null)]
    [InlineData("u=1", "u=5", "u=0")]
    [InlineData("u=5", "u=5", "u=4")]
    public async Task The_more_urgent_response_is_whole_first(string first, string second, string? update)
    {
        Folder.AddSized(Size);
        Http3TestConnection client = await OpenAsync();
        Http3TestStream early = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(Size), $"priority: {first}"));
        await early.ReadHeadAsync();
        Http3TestStream late = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(Size), $"priority: {second}"));
        if (update is not null)
        {
            await client.Control!.WriteAsync(Http3Bytes.PriorityUpdate(late.Id, update));
        }

        int earlyBytes = 0;
        Task<int> reading = CountAsync(early, count => Volatile.Write(ref earlyBytes, count));
        Assert.Equal(Size, (await late.ReadResponseAsync()).Content.Length);
        Assert.InRange(Volatile.Read(ref earlyBytes), 0, Size - 1);
        Assert.Equal(Size, await reading);
    }

    private static async Task<int> CountAsync(Http3TestStream stream, Action<int> note)
    {
        int count = 0;
        while (await stream.ReadDataAsync() is { } piece)
        {
            count += piece.Length;
            note(count);
        }

        return count;
    }

    private async Task<Http3TestConnection> OpenAsync()
    {
        Http3Endpoint endpoint = await (await StartAsync()).ListenHttp3Async();
        return await endpoint.ConnectAsync(settings: Http3TestClient.Settings with
        {
            Streams = new StreamSettings
            {
                ConnectionWindowBytes = 16 * 1024,
                ConnectionWindowBytesMax = 16 * 1024,
                StreamWindowBytes = 1024 * 1024,
                StreamWindowBytesMax = 1024 * 1024,
            },
        });
    }
}
