using Millrace.Cost.Tests.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Cost.Tests;

/// <summary>
/// The program as it ships, through its front door: whatever stands between the sockets and the pieces whose own suites prove that they
/// allocate nothing is in it.
/// </summary>
public class AllocationTests
{
    private const int Requests = 20_000;
    private const int InOneWrite = 4;

    /// <summary>What allocates for a request does so in each round; what compiling a method anew takes, does not.</summary>
    private const int Rounds = 3;

    /// <summary>The smallest object has 24: one for a request in thirty would be more.</summary>
    private const double BytesPerRequestMax = 0.8;

    [Theory]
    [InlineData("io_uring", "", "", 200)]
    [InlineData("io_uring", "", "Range: bytes=100-199", 206)]
    [InlineData("io_uring", "", "If-None-Match: *", 304)]
    [InlineData("io_uring", Flags.Ring, "", 200)]
    [InlineData("io_uring", Flags.Stream, "", 200)]
    [InlineData("epoll", "", "", 200)]
    [InlineData("epoll", Flags.Ring, "", 200)]
    public Task A_request_allocates_nothing(string backend, string flags, string field, int status) =>
        AssertNoneAsync(backend, flags, url => new Http1Connection(url, "/file.bin", field, status));

    [Theory]
    [InlineData("io_uring")]
    [InlineData("epoll")]
    public Task A_stream_allocates_nothing(string backend) =>
        AssertNoneAsync(backend, "", static url => new Http2Connection(url, "/file.bin"));

    private static async Task AssertNoneAsync(string backend, string flags, Func<Uri, KeptConnection> connect)
    {
        using TempFolder folder = new(), site = new();
        site.Add("file.bin", 10 * 1024);
        var tally = new AllocationTally(folder.Root);
        await using ServerProcess server = await tally.StartAsync([site.Root, .. Flags.OneReactor(backend, flags)]);
        using KeptConnection connection = connect(server.Url);
        Ask(connection);

        var perRequest = new List<double>();
        do
        {
            long before = tally.Read();
            Ask(connection);
            perRequest.Add((tally.Read() - before) / (double)Requests);
        }
        while (perRequest[^1] > BytesPerRequestMax && perRequest.Count < Rounds);

        Assert.InRange(perRequest[^1], 0, BytesPerRequestMax);
    }

    private static void Ask(KeptConnection connection)
    {
        for (int asked = 0; asked < Requests; asked += InOneWrite)
        {
            connection.Ask(InOneWrite);
        }
    }
}
