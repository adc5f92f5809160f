using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using Millrace.Arena.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>The profiles baseline-h2, baseline-h2c, unary-grpc and unary-grpc-tls.</summary>
public class Http2Tests(Entries entries)
{
    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task Sums_come_over_http2(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        foreach (BoardPort port in (BoardPort[])[BoardPort.H2c, BoardPort.Http2])
        {
            HttpClient client = running.Client(port);
            for (int i = 0; i < 20; i++)
            {
                int a = Random.Shared.Next(100, 1000), b = Random.Shared.Next(100, 1000);
                using HttpResponseMessage response = await client.GetAsync($"/baseline2?a={a}&b={b}");

                Assert.Equal(HttpVersion.Version20, response.Version);
                Assert.Equal((a + b).ToString(CultureInfo.InvariantCulture), await response.Content.ReadAsStringAsync());
                Assert.Equal("text/plain", response.Content.Headers.ContentType?.MediaType);
            }
        }
    }

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task The_cleartext_port_of_http2_refuses_http1(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        using Socket socket = await running.ConnectAsync(BoardPort.H2c);
        await socket.SendAsync("GET /baseline2?a=1&b=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray());
        byte[] buffer = new byte[1024];
        int received = await socket.ReceiveAsync(buffer).WaitAsync(TimeSpan.FromSeconds(60));

        Assert.DoesNotContain(" 200 ", Encoding.Latin1.GetString(buffer, 0, received), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Cases.Grpc), MemberType = typeof(Cases))]
    public async Task A_unary_call_is_answered(string entry, string backend)
    {
        RunningEntry running = await entries.GetAsync(entry, backend);
        foreach (BoardPort port in (BoardPort[])[BoardPort.Http, BoardPort.Http2])
        {
            HttpClient client = running.Client(port, isHttp2: true);
            for (byte a = 1; a < 100; a++)
            {
                // Not compressed, four bytes, two fields of one byte.
                using var question = new ByteArrayContent([0, 0, 0, 0, 4, 8, a, 16, 2]);
                question.Headers.ContentType = new MediaTypeHeaderValue("application/grpc");
                using var request = new HttpRequestMessage(HttpMethod.Post, "/benchmark.BenchmarkService/GetSum")
                {
                    Content = question,
                    Version = client.DefaultRequestVersion,
                    VersionPolicy = client.DefaultVersionPolicy,
                };
                request.Headers.TE.Add(new TransferCodingWithQualityHeaderValue("trailers"));
                using HttpResponseMessage response = await client.SendAsync(request);

                Assert.Equal([0, 0, 0, 0, 2, 8, (byte)(a + 2)], await response.Content.ReadAsByteArrayAsync());
                Assert.Equal("0", Assert.Single(response.TrailingHeaders.GetValues("grpc-status")));
            }
        }
    }
}
