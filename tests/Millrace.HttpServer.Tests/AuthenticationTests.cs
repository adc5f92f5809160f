using System.Text;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.HttpServer.Tests;

/// <summary>Requests whose credentials are verified on another thread while their connection waits.</summary>
public class AuthenticationTests : SiteFixture
{
    /// <summary>The hash of "right", as cheap as SHA-512 crypt allows.</summary>
    private const string Hash =
        "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";

    private const int Size = 100_000;

    [Fact]
    public async Task Each_request_is_checked_by_its_own_credentials()
    {
        byte[] bytes = Folder.AddSized(Size);
        Wire wire = await (await StartAsync(WithPassword)).ConnectAsync();
        (string? Password, int Status)[] requests =
            [("right", 200), (null, 401), ("wrong", 401), ("right", 200), ("wrong", 401), ("new", 401), ("right", 200)];

        await wire.SendAsync(string.Concat(requests.Select(static request => RequestWith(request.Password))));

        foreach ((string? password, int status) in requests)
        {
            Response response = await wire.ReadResponseAsync();
            Assert.Equal((password, status), (password, response.Status));
            Assert.Equal(status == 401, response.Field("WWW-Authenticate") is not null);
            if (status == 200)
            {
                response.AssertIsWhole(bytes);
                Assert.Equal("no-cache", response.Field("Cache-Control"));
            }
        }
    }

    [Fact]
    public async Task A_body_after_new_credentials_is_not_taken_for_a_request()
    {
        Folder.AddSized(Size);
        Wire wire = await (await StartAsync(WithPassword)).ConnectAsync();
        string body = RequestWith("right");

        await wire.SendAsync(RequestWith("wrong", $"Content-Length: {body.Length}\r\n") + body + RequestWith(null));

        Assert.Equal(401, (await wire.ReadResponseAsync()).Status);
        Assert.Equal(401, (await wire.ReadResponseAsync()).Status);
        wire.FinishSending();
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task Credentials_after_fields_that_fill_the_head_are_checked()
    {
        Folder.AddSized(Size);
        Wire wire = await (await StartAsync(WithPassword)).ConnectAsync();
        string tag = $"If-None-Match: \"{new string('x', 15_500)}\"\r\n";
        string credentials = $"Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes($"jane:{new string('x', 1000)}"))}\r\n";

        // Two lines of a field are joined, an empty one with nothing between, and the credentials once for each who looks at them.
        await wire.SendAsync(RequestWith(null, $"{tag}{tag}Authorization:\r\n{credentials}") + RequestWith("right"));

        Assert.Equal(401, (await wire.ReadResponseAsync()).Status);
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(Size));
    }

    [Fact]
    public async Task Clients_that_go_away_meanwhile_leave_nothing_behind()
    {
        Folder.AddSized(Size);
        RunningSite site = await StartAsync(WithPassword);

        for (int i = 0; i < 50; i++)
        {
            using Wire wire = await site.ConnectAsync();
            await wire.SendAsync(RequestWith($"guess {i}") + RequestWith($"next guess {i}"));
            wire.Reset();
        }

        // Those who wait may be so many that it is turned away at first.
        Wire bystander = await site.ConnectAsync();
        Response response;
        do
        {
            await bystander.SendAsync(RequestWith("right"));
            response = await bystander.ReadResponseAsync();
        }
        while (response.Status == 503);

        response.AssertIsWhole(SiteFolder.Bytes(Size));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_request_that_is_verified_while_the_server_stops_is_answered_and_is_the_last()
    {
        byte[] bytes = Folder.AddSized(Size);
        var observer = new CountingObserver();
        RunningSite site = await StartAsync(WithPassword, observe: _ => observer.OnFinished);
        Wire wire = await site.ConnectAsync();
        (await AskAsync(wire)).AssertIsWhole(bytes);

        // Asked to end before it has read them, a connection is idle.
        await wire.SendAsync(RequestWith("wrong") + RequestWith("right"));
        Assert.True(SpinWait.SpinUntil(() => observer.Reported > 1, TimeSpan.FromSeconds(60)));
        Task stopped = site.Group.StopAsync(TimeSpan.FromSeconds(10));

        Response response = await wire.ReadResponseAsync();
        Assert.Equal(401, response.Status);
        if (response.Field("Connection") != "close")
        {
            // It came before the end was asked for.
            response = await wire.ReadResponseAsync();
            response.AssertIsWhole(bytes);
        }

        (byte[] left, WireEnd end) = await wire.ReadToEndAsync();
        Assert.Equal((0, WireEnd.Finished), (left.Length, end));
        wire.Dispose();
        await stopped;
    }

    private static async Task<Response> AskAsync(Wire wire)
    {
        await wire.SendAsync(RequestWith("right"));
        return await wire.ReadResponseAsync();
    }

    private static string RequestWith(string? password, string fields = "")
    {
        string credentials = password is null ? "" : $"Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes($"jane:{password}"))}\r\n";
        return $"GET {SiteFolder.Target(Size)} HTTP/1.1\r\nHost: a\r\n{credentials}{fields}\r\n";
    }

    private SiteOptions WithPassword(SiteOptions options)
    {
        Folder.Add("/.htpasswd", Encoding.ASCII.GetBytes($"jane:{Hash}\n"));
        return options with { PasswordFile = Folder.PathOf("/.htpasswd") };
    }
}
