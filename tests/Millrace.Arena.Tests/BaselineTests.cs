using System.Globalization;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using Millrace.Arena.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>The profiles baseline, pipelined and limited-conn.</summary>
public class BaselineTests(Entries entries)
{
    private const string Get = "GET /baseline11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    private const string Post =
        "POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n20";
    private const string Chunked =
        "POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n20\r\n0\r\n\r\n";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task The_numbers_of_query_and_body_are_added(string entry, string backend)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(BoardPort.Http);
        for (int i = 0; i < 5; i++)
        {
            int a = Random.Shared.Next(-999, 1000), b = Random.Shared.Next(100, 1000), body = Random.Shared.Next(100, 1000);
            string target = $"/baseline11?a={a}&b={b}";

            await AssertSumAsync(a + b, await client.GetAsync(target));
            await AssertSumAsync(a + b + body, await client.PostAsync(target, Body(body)));
            using var chunked = new HttpRequestMessage(HttpMethod.Post, target) { Content = Body(body) };
            chunked.Headers.TransferEncodingChunked = true;
            await AssertSumAsync(a + b + body, await client.SendAsync(chunked));
        }
    }

    // Sleeps: once, so that the server has read the first part of each request before the second part comes.
    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task A_request_may_be_split_anywhere(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        foreach ((string request, string sum) in ((string, string)[])[(Get, "55"), (Post, "75"), (Chunked, "75")])
        {
            List<(Socket Socket, int Split)> begun = [];
            for (int split = 1; split < request.Length; split++)
            {
                begun.Add((await running.ConnectAsync(BoardPort.Http), split));
                await begun[^1].Socket.SendAsync(Encoding.ASCII.GetBytes(request[..split]));
            }

            await Task.Delay(30);
            foreach ((Socket socket, int split) in begun)
            {
                await socket.SendAsync(Encoding.ASCII.GetBytes(request[split..]));
                string answer = await ReadToEndAsync(socket);
                Assert.True(
                    answer.StartsWith("HTTP/1.1 200 ", StringComparison.Ordinal) && BodyOf(answer) == sum,
                    $"split at {split} of {request}: {answer}");
                socket.Dispose();
            }
        }
    }

    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task A_request_may_come_byte_by_byte(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        using Socket socket = await running.ConnectAsync(BoardPort.Http);
        foreach (byte each in Encoding.ASCII.GetBytes(Chunked))
        {
            await socket.SendAsync(new[] { each });
            await Task.Yield();
        }

        Assert.Equal("75", BodyOf(await ReadToEndAsync(socket)));
    }

    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task Sixteen_requests_in_one_write_are_answered_in_order(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        using Socket socket = await running.ConnectAsync(BoardPort.Http);
        var requests = new StringBuilder();
        for (int i = 0; i < 15; i++)
        {
            requests.Append("GET /pipeline HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }

        requests.Append(Get);
        await socket.SendAsync(Encoding.ASCII.GetBytes(requests.ToString()));
        string answers = await ReadToEndAsync(socket);

        Assert.Equal(17, answers.Split("HTTP/1.1 200 OK\r\n").Length);
        Assert.Equal("55", BodyOf(answers));
    }

    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task The_pipelined_page_says_ok(string entry, string backend)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(BoardPort.Http);
        using HttpResponseMessage response = await client.GetAsync("/pipeline");

        Assert.Equal("ok", await response.Content.ReadAsStringAsync());
        Assert.Equal("text/plain", response.Content.Headers.ContentType?.MediaType);
        Assert.Equal(System.Net.HttpStatusCode.NotFound, (await client.GetAsync("/another")).StatusCode);
    }

    [Theory]
    [MemberData(nameof(Cases.Applications), MemberType = typeof(Cases))]
    public async Task A_connection_ends_after_its_tenth_request(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        for (int life = 0; life < 5; life++)
        {
            using Socket socket = await running.ConnectAsync(BoardPort.Http);
            var requests = new StringBuilder();
            for (int i = 0; i < 9; i++)
            {
                requests.Append(Post.Replace("Connection: close\r\n", "", StringComparison.Ordinal));
            }

            await socket.SendAsync(Encoding.ASCII.GetBytes(requests.Append(Chunked).ToString()));
            Assert.Equal(11, (await ReadToEndAsync(socket)).Split("\r\n\r\n75").Length);
        }
    }

    private static StringContent Body(int value) =>
        new(value.ToString(CultureInfo.InvariantCulture), Encoding.ASCII, new MediaTypeHeaderValue("text/plain"));

    private static async Task AssertSumAsync(int expected, HttpResponseMessage response)
    {
        using (response)
        {
            Assert.Equal(expected.ToString(CultureInfo.InvariantCulture), await response.Content.ReadAsStringAsync());
            Assert.Equal("text/plain", response.Content.Headers.ContentType?.MediaType);
        }
    }

    private static async Task<string> ReadToEndAsync(Socket socket)
    {
        var text = new StringBuilder();
        byte[] buffer = new byte[8 * 1024];
        int received;
        while ((received = await socket.ReceiveAsync(buffer).WaitAsync(Patience)) > 0)
        {
            text.Append(Encoding.Latin1.GetString(buffer, 0, received));
        }

        return text.ToString();
    }

    /// <summary>Of the last answer: by its length, or by its one chunk.</summary>
    private static string BodyOf(string answers)
    {
        string body = answers[(answers.LastIndexOf("HTTP/1.1 ", StringComparison.Ordinal) + 1)..].Split("\r\n\r\n", 2)[1];
        return body.EndsWith("\r\n0\r\n\r\n", StringComparison.Ordinal) ? body.Split("\r\n")[1] : body;
    }
}
