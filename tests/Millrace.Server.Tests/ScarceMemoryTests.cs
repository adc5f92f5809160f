using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// A server in a memory cgroup, with default limits, and one client that has thousands of connections hold whatever they can: the kernel
/// kills nobody, and another client is served all the while.
/// </summary>
public class ScarceMemoryTests
{
    private const long Mebibyte = 1024 * 1024;
    private const string Attacker = "127.0.0.9";
    private const string Client = "127.0.0.77";

    /// <summary>As much as a page on a machine that is busy with all else may take.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(120);

    public static TheoryData<Stall, int> Campaign
    {
        get
        {
            var data = new TheoryData<Stall, int>();
            foreach (Stall stall in Enum.GetValues<Stall>())
            {
                data.Add(stall, 256);
                data.Add(stall, 512);
            }

            return data;
        }
    }

    [Theory]
    [InlineData(Stall.ClosedWindows)]
    [InlineData(Stall.UnreadPipeline)]
    [InlineData(Stall.SilentHandshake)]
    public Task A_thousand_connections_that_hold_still_do_not_have_it_killed_in_256_MB(Stall stall) =>
        AssertSurvivesAsync(stall, mebibytes: 256, connections: 1_000, rounds: 1);

    [Theory]
    [Trait("Duration", "Long")]
    [MemberData(nameof(Campaign))]
    public Task Ten_rounds_of_16384_connections_that_hold_still_do_not_have_it_killed(Stall stall, int mebibytes) =>
        AssertSurvivesAsync(stall, mebibytes, connections: 16_384, rounds: 10);

    private static async Task AssertSurvivesAsync(Stall stall, int mebibytes, int connections, int rounds)
    {
        using var folder = new TempFolder();
        byte[] page = folder.Add("page.bin", 2_000);
        folder.Add("large.bin", 8 * 1024 * 1024);
        byte[] sent = Crowd.SentFor(stall, stall == Stall.UnreadPipeline ? "/page.bin" : "/large.bin");
        using var keys = new TempFolder();
        string[] flags = OwnCertificate.Make(keys, "a", "a.example");
        using MemoryGroup group = MemoryGroup.Create(mebibytes * Mebibyte);
        int pages = 0;
        await using (ServerProcess server = await group.StartAsync(
            [folder.Root, .. Crowd.IsOfTls(stall) ? ["--https", "127.0.0.1:0", .. flags] : (string[])["--listen", "127.0.0.1:0"]]))
        {
            for (int round = 0; round < rounds; round++)
            {
                Task<Crowd> gathering = Crowd.GatherAsync(server.Url, Attacker, connections, sent);
                try
                {
                    do
                    {
                        AssertIsServed(group, server, page);
                        pages++;
                    }
                    while (!gathering.IsCompleted);
                }
                catch
                {
                    (await gathering).Dispose();
                    throw;
                }

                using Crowd crowd = await gathering;
                Assert.InRange(crowd.Count, 1, connections);
                for (int iteration = 0; iteration < 4; iteration++, pages++)
                {
                    crowd.Send(Crowd.SentLaterFor(stall, iteration));
                    AssertIsServed(group, server, page);
                }
            }

            Assert.Equal(0, group.Killed);
        }

        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{stall}, {connections} connections in {mebibytes} MB, {rounds} rounds: "
            + $"{group.PeakBytes / Mebibyte} MB at most, {pages} pages.");
    }

    private static void AssertIsServed(MemoryGroup group, ServerProcess server, byte[] page)
    {
        try
        {
            AssertIsServed(server.Url, page);
        }
        catch (Exception reset) when (reset is IOException or SocketException)
        {
            throw new InvalidOperationException($"Another client is not served, {group.Killed} processes were killed, the server said: {server.Said()}", reset);
        }
    }

    private static void AssertIsServed(Uri server, byte[] page)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Parse(Client), 0));
        socket.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        socket.Connect(IPAddress.Loopback, server.Port);
        using Stream stream = Open(socket, server.Scheme == Uri.UriSchemeHttps);
        stream.Write("GET /page.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"u8);
        var response = new MemoryStream();
        stream.CopyTo(response);
        byte[] all = response.ToArray();
        string head = Encoding.ASCII.GetString(all, 0, Math.Min(all.Length, 15));
        Assert.Equal("HTTP/1.1 200 OK", head);
        Assert.True(all.AsSpan().EndsWith(page), "The page is another.");
    }

    private static Stream Open(Socket socket, bool isTls)
    {
        var plain = new NetworkStream(socket);
        if (!isTls)
        {
            return plain;
        }

        var secure = new SslStream(plain, leaveInnerStreamOpen: false);
        secure.AuthenticateAsClient(new SslClientAuthenticationOptions
        {
            TargetHost = "a.example",
            RemoteCertificateValidationCallback = OwnCertificate.IsAnything,
        });
        return secure;
    }
}
