using System.Net;
using System.Net.Http.Json;
using System.Net.WebSockets;
using System.Text;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>The sample application, built and driven: minimal API, JSON, WebSocket, SignalR, HTTPS, by the same program on each transport.</summary>
public class WebApiSampleTests
{
    /// <summary>SignalR ends each message so.</summary>
    private const char RecordSeparator = '\x1e';

    private sealed record Mill(string Name, int Wheels);

    private sealed record Greeting(string Message);

    [Theory]
    [InlineData("millrace", "off")]
    [InlineData("millrace", "on")]
    [InlineData("millrace", "millrace")]
    [InlineData("sockets", "millrace")]
    [InlineData("sockets", "off")]
    [InlineData("sockets-inline", "off")]
    public async Task The_sample_does_the_same_on_each_transport(string transport, string https)
    {
        (ChildServer server, Uri url) = await WebApiSample.StartAsync(transport, https);
        await using (server)
        {
            Assert.Equal(https == "off" ? "http" : "https", url.Scheme);
            Assert.Equal(transport == "millrace", server.HasReactors);
            using HttpClient client = NewClient(url);
            await AskPagesAsync(client);
            await ChangeMillsAsync(client);
            await EchoAsync(url);
            await SpeakInHubAsync(url);
        }
    }

    private static async Task AskPagesAsync(HttpClient client)
    {
        Assert.Equal("Hello, World!", await client.GetStringAsync("/plaintext"));
        Assert.Equal("Hello, World!", await client.GetStringAsync("/awaited"));
        Assert.Equal(new Greeting("Hello, World!"), await client.GetFromJsonAsync<Greeting>("/json"));
        Assert.Equal(10_240, (await client.GetByteArrayAsync("/10k")).Length);
    }

    private static async Task ChangeMillsAsync(HttpClient client)
    {
        var mill = new Mill("upper", 3);
        Assert.Equal(HttpStatusCode.NotFound, (await client.GetAsync("/mills/upper")).StatusCode);
        Assert.Equal(HttpStatusCode.NoContent, (await client.PutAsJsonAsync("/mills/upper", mill)).StatusCode);
        Assert.Equal(HttpStatusCode.BadRequest, (await client.PutAsJsonAsync("/mills/lower", mill)).StatusCode);
        Assert.Equal(mill, await client.GetFromJsonAsync<Mill>("/mills/upper"));
        Assert.Equal(mill, Assert.Single((await client.GetFromJsonAsync<Mill[]>("/mills/"))!));
        Assert.Equal(HttpStatusCode.NoContent, (await client.DeleteAsync("/mills/upper")).StatusCode);
        Assert.Empty((await client.GetFromJsonAsync<Mill[]>("/mills/"))!);
    }

    private static async Task EchoAsync(Uri url)
    {
        using ClientWebSocket socket = await OpenAsync(url, "/echo");
        foreach (string words in (string[])["bytes", new string('f', 100_000)])
        {
            await SendAsync(socket, words);
            Assert.Equal(words, await ReceiveAsync(socket));
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None).Within();
    }

    /// <summary>SignalR's JSON protocol by hand: two clients, and both hear what one says.</summary>
    private static async Task SpeakInHubAsync(Uri url)
    {
        using ClientWebSocket one = await EnterHubAsync(url);
        using ClientWebSocket other = await EnterHubAsync(url);

        await SendAsync(one, """{"type":1,"target":"Say","arguments":["water"]}""" + RecordSeparator);

        const string Heard = """{"type":1,"target":"heard","arguments":["water"]}""";
        Assert.Equal(Heard + RecordSeparator, await ReceiveAsync(one));
        Assert.Equal(Heard + RecordSeparator, await ReceiveAsync(other));
    }

    private static async Task<ClientWebSocket> EnterHubAsync(Uri url)
    {
        ClientWebSocket socket = await OpenAsync(url, "/hub");
        await SendAsync(socket, """{"protocol":"json","version":1}""" + RecordSeparator);
        Assert.Equal("{}" + RecordSeparator, await ReceiveAsync(socket));
        return socket;
    }

    private static async Task<ClientWebSocket> OpenAsync(Uri url, string path)
    {
        var socket = new ClientWebSocket();
        // The sample's certificate is made when it starts; that it speaks TLS at all is what is looked at.
        socket.Options.RemoteCertificateValidationCallback = static (_, certificate, _, _) => IsSamples(certificate?.Subject);
        var target = new UriBuilder(url) { Scheme = url.Scheme == "https" ? "wss" : "ws", Path = path };
        await socket.ConnectAsync(target.Uri, CancellationToken.None).Within();
        return socket;
    }

    private static HttpClient NewClient(Uri url) => new(new SocketsHttpHandler
    {
        SslOptions = { RemoteCertificateValidationCallback = static (_, certificate, _, _) => IsSamples(certificate?.Subject) },
    })
    {
        BaseAddress = url,
        Timeout = Waiting.Patience,
    };

    private static bool IsSamples(string? subject) => subject == "CN=millrace-sample";

    private static Task SendAsync(ClientWebSocket socket, string words) => socket.SendAsync(
        Encoding.UTF8.GetBytes(words), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None).Within();

    private static async Task<string> ReceiveAsync(ClientWebSocket socket) => Encoding.UTF8.GetString(await socket.ReceiveMessageAsync());
}
