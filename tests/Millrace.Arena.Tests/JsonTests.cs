using System.IO.Compression;
using System.Net;
using System.Text.Json;
using Millrace.Arena.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>The profiles json, json-tls, json-comp and json-h2c.</summary>
public class JsonTests(Entries entries)
{
    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task The_first_items_come_with_their_totals(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        foreach (BoardPort port in (BoardPort[])[BoardPort.Http, BoardPort.Https])
        {
            HttpClient client = running.Client(port);
            await AssertPageAsync(client, 12, 3);
            await AssertPageAsync(client, 22, 7);
            await AssertPageAsync(client, 31, 2);
            await AssertPageAsync(client, 50, Random.Shared.Next(1, 1000));
        }
    }

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task The_first_items_come_over_cleartext_http2(string entry, string backend)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(BoardPort.H2c);

        await AssertPageAsync(client, 1, 3);
        await AssertPageAsync(client, 50, Random.Shared.Next(1, 1000));
    }

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task A_page_is_coded_only_for_a_client_that_says_so(string entry, string backend)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(BoardPort.Http);
        using HttpResponseMessage plain = await client.GetAsync("/json/50?m=2");
        Assert.Empty(plain.Content.Headers.ContentEncoding);
        long plainBytes = (await plain.Content.ReadAsByteArrayAsync()).Length;

        foreach ((int count, int multiplier) in ((int, int)[])[(25, 3), (40, 7), (50, 2)])
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, $"/json/{count}?m={multiplier}");
            request.Headers.Add("Accept-Encoding", "gzip, br");
            using HttpResponseMessage response = await client.SendAsync(request);
            byte[] coded = await response.Content.ReadAsByteArrayAsync();

            Assert.True(coded.Length < plainBytes / 2);
            using var stream = new MemoryStream(coded);
            using Stream decoded = Assert.Single(response.Content.Headers.ContentEncoding) == "br"
                ? new BrotliStream(stream, CompressionMode.Decompress)
                : new GZipStream(stream, CompressionMode.Decompress);
            AssertPage((await JsonSerializer.DeserializeAsync<BoardPage>(decoded, Board.Json))!, count, multiplier);
        }
    }

    private async Task AssertPageAsync(HttpClient client, int count, int multiplier)
    {
        using HttpResponseMessage response = await client.GetAsync($"/json/{count}?m={multiplier}");

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(client.DefaultRequestVersion, response.Version);
        Assert.Equal("application/json", response.Content.Headers.ContentType?.MediaType);
        AssertPage(JsonSerializer.Deserialize<BoardPage>(await response.Content.ReadAsStringAsync(), Board.Json)!, count, multiplier);
    }

    private void AssertPage(BoardPage actual, int count, int multiplier) =>
        Assert.Equal(JsonSerializer.Serialize(entries.Board.Page(count, multiplier)), JsonSerializer.Serialize(actual));
}
