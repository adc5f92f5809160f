using System.Text;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.QuicTransport;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Requests that wait for something off the reactor before they are planned, and too little memory when it is there.</summary>
public class WaitingTests : Http3Test
{
    /// <summary>The hash of "right", as cheap as SHA-512 crypt allows.</summary>
    private const string Hash =
        "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";

    [Fact]
    public async Task Each_request_is_checked_by_its_own_credentials()
    {
        Http3TestConnection client = await OpenWithPasswordAsync();
        (string? Password, string Status)[] requests =
            [("right", "200"), (null, "401"), ("wrong", "401"), ("right", "200"), ("new", "401"), ("right", "200")];
        Http3TestResponse[] responses = await Task.WhenAll(
            requests.Select(request => client.GetAsync(Small, FieldsOf(request.Password))));
        Assert.Equal(requests.Select(static request => request.Status), responses.Select(static response => response.Status));
    }

    [Fact]
    public async Task A_request_that_waits_may_be_given_up()
    {
        Http3TestConnection client = await OpenWithPasswordAsync();
        for (int i = 0; i < 20; i++)
        {
            Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Small, FieldsOf($"password {i}")), isEnd: i % 2 == 0);
            stream.Abort();
            stream.StopSending();
        }

        Assert.Equal("200", (await client.GetAsync(Small, FieldsOf("right"))).Status);
    }

    [Fact]
    public async Task A_client_that_is_gone_meanwhile_leaves_nothing_behind()
    {
        Http3TestConnection client = await OpenWithPasswordAsync();
        for (int i = 0; i < 20; i++)
        {
            await client.SendAsync(Http3Bytes.Request("GET", Small, FieldsOf($"password {i}")));
        }

        client.Close();
        await client.Closed;
    }

    [Fact]
    public async Task A_request_that_waited_until_there_was_no_memory_is_answered_503()
    {
        Folder.Add("/a.txt", "at first"u8.ToArray());
        RunningSite site = await StartAsync(
            static options => options with { Watch = WatchMode.Revalidate },
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { BufferBytes = 4 * 1024 * 1024 } });
        Http3Endpoint endpoint = await site.ListenHttp3Async();
        Http3TestConnection client = await endpoint.ConnectAsync();
        using var isLookedAt = new SemaphoreSlim(0);
        using var mayGoOn = new SemaphoreSlim(0);
        site.Catalog.Changed += HoldUp;
        Folder.Add("/a.txt", "as it is now"u8.ToArray());
        Task<Http3TestResponse> waiting = client.GetAsync("/a.txt", "accept: text/html");
        Assert.True(await isLookedAt.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        site.Catalog.Changed -= HoldUp;
        Reactor reactor = site.Group.Reactors[0];
        var block = await AtHomeAsync(reactor, () =>
        {
            var block = reactor.Pools.Rent(3_400 * 1024);
            ConnectionOf(endpoint).Holdings.ChargeBlocks(block.Bytes);
            return block;
        });
        Http3TestResponse response;
        try
        {
            mayGoOn.Release();
            response = await waiting;
        }
        finally
        {
            await AtHomeAsync(reactor, () =>
            {
                ConnectionOf(endpoint).Holdings.ChargeBlocks(-block.Bytes);
                reactor.Pools.Return(block);
                return block;
            });
        }

        Assert.Equal(("503", "text/html; charset=utf-8"), (response.Status, response["content-type"]));
        Assert.Equal("as it is now", Encoding.UTF8.GetString((await client.GetAsync("/a.txt")).Content));
        _ = site.TakeWarnings();

        void HoldUp()
        {
            isLookedAt.Release();
            mayGoOn.Wait(TestContext.Current.CancellationToken);
        }
    }

    private static async Task<T> AtHomeAsync<T>(Reactor reactor, Func<T> action)
    {
        T result = default!;
        await reactor.PostAsync(() => result = action());
        return result;
    }

    private static QuicServerConnection ConnectionOf(Http3Endpoint endpoint) =>
        (QuicServerConnection)Assert.Single(endpoint.Listener.Reactors[0].Endpoint.Connections).Tag!;

    private static string[] FieldsOf(string? password) => password is null
        ? []
        : [$"authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes($"jane:{password}"))}"];

    private async Task<Http3TestConnection> OpenWithPasswordAsync()
    {
        Folder.AddSized(1000);
        Folder.Add("/.htpasswd", Encoding.ASCII.GetBytes($"jane:{Hash}\n"));
        RunningSite site = await StartAsync(options => options with { PasswordFile = Folder.PathOf("/.htpasswd") });
        return await (await site.ListenHttp3Async()).ConnectAsync();
    }
}
