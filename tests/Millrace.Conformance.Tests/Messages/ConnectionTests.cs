using System.Text;
using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Messages;

public class ConnectionTests
{
    private const string Section = "RFC 9112 9.3";

    [Theory]
    [Behaviour(Section, 25, "HTTP/1.1 keeps the connection.")]
    public async Task Http_1_1_keeps_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        for (int request = 0; request < 100; request++)
        {
            (await wire.GetAsync("/one.txt")).IsWhole(Site.Files["/one.txt"]);
        }
    }

    [Theory]
    [Behaviour("RFC 9112 9.6", 25, "Connection: close is answered, announced and followed by the end.")]
    public async Task Connection_close_closes(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        Response response = (await wire.GetAsync("/one.txt", "Connection: close")).IsWhole(Site.Files["/one.txt"]);
        Expect.That(response.Lists("Connection", "close"), "no Connection: close in the answer");
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour("RFC 9110 7.6.1", 25, "Connection is a case-insensitive list.")]
    public Task Connection_is_a_list_without_case(Site site) => Expect.EachAsync(
        ["Connection: CLOSE", "Connection: foo, close", "Connection: keep-alive,Close", "Connection: x\r\nConnection: close"],
        async fields =>
        {
            using Wire wire = await site.ConnectAsync();
            (await wire.GetAsync("/one.txt", fields)).Is(200);
            await wire.EndsAsync();
        });

    [Theory]
    [Behaviour("RFC 9112 9.6", 27, "Requests after one with Connection: close are not answered.")]
    public async Task Nothing_after_connection_close_is_answered(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("GET", "/one.txt", "Connection: close") + Site.Request("GET", "/text.txt"));
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour("RFC 9112 9.6", 25, "The last response before the end is complete.")]
    public async Task The_last_response_is_complete(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        (await wire.GetAsync("/2m.bin", "Connection: close")).IsWhole(Site.Files["/2m.bin"]);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour(Section, 25, "HTTP/1.0 closes by default.")]
    public async Task Http_1_0_closes(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET /one.txt HTTP/1.0\r\nHost: localhost\r\n\r\n");
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour("RFC 9112 C.2.2", 25, "HTTP/1.0 with Connection: keep-alive stays open if the response says so, and ends if not.")]
    public async Task Http_1_0_is_kept_on_demand(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        const string request = "GET /one.txt HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n";
        await wire.SendAsync(request);
        Response response = (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
        if (response.Lists("Connection", "keep-alive"))
        {
            await wire.SendAsync(request);
            (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
        }
        else
        {
            await wire.EndsAsync();
        }
    }

    [Theory]
    [Behaviour("RFC 9112 6.1", 25, "HTTP/1.0 is never answered in chunks.")]
    public Task Http_1_0_gets_no_chunks(Site site) => Expect.EachAsync(
        ["/text.txt", "/300k.bin", "/missing.txt", "/", "/dir"],
        async target => (await site.SendAsync($"GET {target} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")).Lacks("Transfer-Encoding"));

    [Theory]
    [Behaviour("RFC 9112 9.3.2", 27, "Fifty pipelined requests are answered in their order.")]
    public async Task Pipelined_requests_are_answered_in_order(Site site)
    {
        string[] targets = ["/one.txt", "/text.txt", "/10k.bin", "/empty.txt", "/other.txt"];
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(string.Concat(Enumerable.Range(0, 50).Select(number => Site.Request("GET", targets[number % 5]))));
        for (int number = 0; number < 50; number++)
        {
            (await wire.ReadResponseAsync()).IsWhole(Site.Files[targets[number % 5]]);
        }
    }

    [Theory]
    [Behaviour("RFC 9112 9.3.2", 27, "Pipelined requests with different outcomes each get their own response.")]
    public async Task Pipelined_requests_of_every_outcome_are_answered(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("HEAD", "/text.txt") + Site.Request("GET", "/missing.txt")
            + Site.Request("GET", "/text.txt", "If-None-Match: *") + Site.Request("GET", "/text.txt", "Range: bytes=5-9")
            + Site.Request("GET", "/dir?a=b") + Site.Request("GET", "/one.txt"));
        (await wire.ReadResponseAsync("HEAD")).Is(200);
        (await wire.ReadResponseAsync()).Is(404);
        (await wire.ReadResponseAsync()).Is(304);
        (await wire.ReadResponseAsync()).IsPart(Site.Files["/text.txt"], 5, 9);
        (await wire.ReadResponseAsync()).Is(301, 302, 307, 308);
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9112 9.3.2", 27, "Pipelined requests for large files are answered whole and in order.")]
    public async Task Pipelined_large_files_are_whole(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("GET", "/2m.bin") + Site.Request("GET", "/300k.bin") + Site.Request("GET", "/one.txt"));
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/2m.bin"]);
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/300k.bin"]);
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9112 2.2", 26, "A request may arrive byte by byte.")]
    public async Task A_request_may_arrive_byte_by_byte(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        foreach (char letter in Site.Request("GET", "/text.txt", "If-None-Match: \"x\""))
        {
            await wire.SendAsync(letter.ToString());
        }

        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/text.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9112 9.3", 28, "An error that leaves the framing intact keeps the connection.")]
    public Task Errors_keep_the_connection(Site site) => Expect.EachAsync(
        ["GET /missing.txt", "GET /no-index/", "HEAD /missing.txt", "GET /../outside.txt", "GET /%00"],
        async line =>
        {
            using Wire wire = await site.ConnectAsync();
            string[] words = line.Split(' ');
            await wire.GoesOnAfterAsync((await wire.AskAsync(words[0], words[1])).Is(400, 403, 404));
        });

    [Theory]
    [Behaviour(
        "RFC 9112 9.6", 28,
        "A client that has finished sending gets its response whole.",
        NotOnKestrel = "Kestrel aborts a connection at its client's FIN.")]
    public async Task A_half_closed_client_gets_its_response(Site site)
    {
        using Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        await wire.SendAsync(Site.Request("GET", "/2m.bin"));
        await wire.FinishSendingAsync();
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/2m.bin"]);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour("RFC 9112 6.3", 26, "A request of unknown length is answered with 400, Connection: close and the end.")]
    public async Task A_request_of_unknown_length_ends_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET /one.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n" + Site.Request("GET", "/text.txt"));
        Response response = (await wire.ReadResponseAsync()).Is(400);
        Expect.That(response.Lists("Connection", "close"), "400 without Connection: close");
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 28, "Fifty clients that do not read delay no other.")]
    public async Task Slow_readers_hold_up_nobody(Site site)
    {
        List<Wire> slow = [];
        try
        {
            for (int reader = 0; reader < 50; reader++)
            {
                Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
                slow.Add(wire);
                await wire.SendAsync(Site.Request("GET", "/2m.bin"));
            }

            (await site.GetAsync("/300k.bin")).IsWhole(Site.Files["/300k.bin"]);
            (await slow[^1].ReadResponseAsync()).IsWhole(Site.Files["/2m.bin"]);
        }
        finally
        {
            slow.ForEach(static wire => wire.Dispose());
        }
    }

    [Theory]
    [Behaviour("RFC 9112 11.1", 13, "No part of a request becomes a line of its own in a response's head.")]
    public Task A_response_cannot_be_split(Site site) => Expect.EachAsync(
        ["/%0d%0aSet-Cookie:%20a=b", "/dir%0d%0aSet-Cookie:%20a=b/..", "/dir?%0d%0aSet-Cookie:%20a=b", "//%0d%0aSet-Cookie:%20a=b/%2e%2e"],
        async target => (await site.GetAsync(target)).Lacks("Set-Cookie"));

    [Theory]
    [Behaviour("RFC 9110 10.1.1", 27, "A request that expects 100-continue is answered before its body arrives.")]
    public async Task Expect_100_continue_does_not_wait(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync("POST /one.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
        Response response = (await wire.ReadResponseAsync("POST")).Is(100, 200, 403, 405, 417, 501);
        if (response.Status == 100)
        {
            await wire.SendAsync("hello");
            (await wire.ReadResponseAsync("POST")).Is(200, 403, 405, 501);
        }
    }

    [Theory]
    [Behaviour("RFC 9110 10.1.1", 27, "Expect: 100-continue with a GET is answered with the file.")]
    public async Task Expect_100_continue_with_a_get_is_served(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("GET", "/one.txt", "Expect: 100-Continue"));
        Response response = await wire.ReadResponseAsync();
        (response.Status == 100 ? await wire.ReadResponseAsync() : response).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9110 10.1.1", 27, "HTTP/1.0 gets no 100.")]
    public async Task Http_1_0_gets_no_100(Site site)
    {
        Response response = await site.SendAsync("POST /one.txt HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello", "POST");
        Expect.That(response.Status >= 200, $"{response.Status}");
    }

    [Theory]
    [Behaviour("RFC 9110 10.1.1", 27, "An expectation that is not known is ignored or answered with 417.")]
    public async Task An_unknown_expectation_is_ignored_or_417(Site site) =>
        (await site.GetAsync("/one.txt", "Expect: miracles")).Is(200, 417);

    [Theory]
    [Behaviour("RFC 9110 6.1", 25, "The bytes of a head are ASCII, whatever was requested.")]
    public async Task A_head_is_ascii(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("GET", "/50%25%20gr%C3%B6%C3%9Fe%3F", "Connection: close"));
        byte[] bytes = await wire.ReadToEndAsync();
        string head = Encoding.Latin1.GetString(bytes).Split("\r\n\r\n")[0];
        Expect.That(head.All(char.IsAscii), "bytes beyond ASCII in the head");
    }
}
