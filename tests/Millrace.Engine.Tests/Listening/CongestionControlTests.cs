using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Listening;

/// <summary>What decides how fast accepted connections send: the listener's, by name.</summary>
public class CongestionControlTests : EngineTest
{
    private const string Settings = "/proc/sys/net/ipv4/";

    private static string OfKernel => File.ReadAllText(Settings + "tcp_congestion_control").Trim();

    /// <summary>Another one than sockets have anyway, where there is one: reno is part of every kernel, and anybody's.</summary>
    private static string Other => Names("tcp_allowed_congestion_control").FirstOrDefault(static name => name != OfKernel) ?? "reno";

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("::1")]
    public async Task Accepted_connections_have_their_listeners(string address)
    {
        var endPoint = new IPEndPoint(IPAddress.Parse(address), 0);
        Listener listener = await ServeAsync(ReportAsync, Options() with { Reactors = 3, CongestionControl = Other }, endPoint);
        for (int i = 0; i < 12; i++)
        {
            Assert.Equal(Other, await AskAsync(listener));
        }

        // Each on a socket of its own.
        Assert.True(Group.Reactors.Count(static reactor => reactor.Counters.Accepted > 0) > 1);
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("::1")]
    [InlineData("0.0.0.0")]
    [InlineData("::")]
    public async Task Without_a_name_they_have_the_kernels(string address)
    {
        Listener listener = await ServeAsync(ReportAsync, Options() with { Reactors = 2 }, new IPEndPoint(IPAddress.Parse(address), 0));
        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(OfKernel, await AskAsync(listener));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_socket_of_somebody_else_is_given_it_and_keeps_its_own_without(bool isReported)
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Assert.Equal(0, SetOf(bound, isReported ? OfKernel : Other));
        ReactorGroup group = await StartAsync(Options() with { CongestionControl = isReported ? Other : null });
        Assert.Equal(Other, await AskAsync(await group.ListenOnAsync((int)bound.Handle, ReportAsync).Within()));
    }

    [Fact]
    public async Task One_that_the_kernel_does_not_have_keeps_it_from_listening_but_on_unix_sockets()
    {
        using var folder = new TemporaryFolder();
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2, CongestionControl = "no-such-one" });
        EngineException refusal = await Assert.ThrowsAsync<EngineException>(
            () => group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), ReportAsync).Within());
        Assert.Equal(CongestionControl.RefusalOf("no-such-one"), refusal.Message);
        Assert.Contains("is not in this kernel, which has ", refusal.Message, StringComparison.Ordinal);
        Assert.All(Names("tcp_available_congestion_control"), name => Assert.Contains(name, refusal.Message, StringComparison.Ordinal));

        Listener unix = await group.ListenAsync(new UnixDomainSocketEndPoint(folder.File("s")), Handlers.EchoAsync).Within();
        Client client = await ConnectAsync(unix);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
    }

    [Theory]
    [InlineData(Errno.ENOENT, "The congestion control 'x' is not in this kernel, which has reno, bbr: "
        + "use one that is, or load its module ('modprobe tcp_x').")]
    [InlineData(Errno.EPERM, "The congestion control 'x' may not be used by this process, which may use reno: "
        + "add it to net.ipv4.tcp_allowed_congestion_control, or start with CAP_NET_ADMIN.")]
    public void A_refusal_names_cause_and_remedy(int errno, string words)
    {
        Assert.Equal(words, CongestionControl.Describe(errno, "x", "reno bbr", "reno"));
        Assert.DoesNotContain(", which", CongestionControl.Describe(errno, "x", null, ""), StringComparison.Ordinal);
    }

    /// <summary>The kernel would cut the last one, and find reno by what is left of others.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("reno\n")]
    [InlineData("../reno")]
    [InlineData("sixteen-letters-")]
    public async Task What_is_no_name_is_refused(string text) =>
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => StartAsync(Options() with { CongestionControl = text }));

    private static string[] Names(string setting) => File.ReadAllText(Settings + setting).Trim().Split(' ');

    private static int SetOf(Socket socket, string name) => SocketCalls.SetOption(
        (int)socket.Handle, SocketOptionNumber.LevelTcp, SocketOptionNumber.CongestionControl, Encoding.ASCII.GetBytes(name));

    /// <summary>Sends what the connection has, in 16 bytes.</summary>
    private static async Task ReportAsync(Connection connection)
    {
        byte[] name = new byte[16];
        Assert.InRange(
            SocketCalls.GetOption(connection.Descriptor, SocketOptionNumber.LevelTcp, SocketOptionNumber.CongestionControl, name), 1, 16);
        connection.Write(name);
        await connection.FlushAsync();
    }

    private async Task<string> AskAsync(Listener listener)
    {
        Client client = await ConnectAsync(listener);
        return Encoding.ASCII.GetString(await client.ReceiveAsync(16)).TrimEnd('\0');
    }
}
