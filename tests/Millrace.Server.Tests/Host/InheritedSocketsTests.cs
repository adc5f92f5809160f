using System.Net;
using Millrace.Server.Host;

namespace Millrace.Server.Tests.Host;

public class InheritedSocketsTests
{
    [Theory]
    [InlineData("7", "2", "web:site-https.socket", "3=web,4=site-https.socket")]
    [InlineData("7", "2", null, "3=,4=")]
    [InlineData("7", "2", "web", "3=web,4=")]
    [InlineData("8", "2", "web", "")]
    [InlineData(null, "2", "web", "")]
    [InlineData("7", "0", "", "")]
    [InlineData("7", "-1", "", "")]
    [InlineData("7", "4097", "", "")]
    [InlineData("7", "many", "", "")]
    [InlineData("7", null, null, "")]
    public void Sockets_are_those_that_the_variables_tell_this_process_of(string? process, string? count, string? names, string expected)
    {
        IReadOnlyList<InheritedSocket> sockets = InheritedSockets.Read(
            name => name switch { "LISTEN_PID" => process, "LISTEN_FDS" => count, "LISTEN_FDNAMES" => names, _ => null }, processId: 7);
        Assert.Equal(expected, string.Join(',', sockets.Select(static socket => $"{socket.Descriptor}={socket.Name}")));
    }

    [Theory]
    [InlineData("https", true)]
    [InlineData("site-HTTPS.socket", true)]
    [InlineData("http", false)]
    [InlineData("", false)]
    public void A_name_with_https_in_it_is_for_HTTPS(string name, bool isForHttps) =>
        Assert.Equal(isForHttps, new InheritedSocket(3, name).IsForHttps);

    [Fact]
    public void Each_address_takes_one_socket_and_the_others_are_left()
    {
        var address = new IPEndPoint(IPAddress.Loopback, 80);
        var sockets = new InheritedSockets(
        [
            new InheritedSocket(3, "a") { EndPoint = address },
            new InheritedSocket(4, "b") { EndPoint = address },
            new InheritedSocket(5, "c") { EndPoint = new IPEndPoint(IPAddress.Loopback, 81) },
        ]);
        Assert.Equal([4, 5], sockets.Besides([address, new IPEndPoint(IPAddress.Loopback, 82)]).Select(static socket => socket.Descriptor));
        Assert.Equal(3, sockets.Take(address)?.Descriptor);
        Assert.Equal(4, sockets.Take(address)?.Descriptor);
        Assert.Null(sockets.Take(new IPEndPoint(IPAddress.Loopback, 82)));
    }

    /// <summary>It stays bound, so that no other could be.</summary>
    [Fact]
    public void A_socket_is_taken_again_when_its_address_comes_back()
    {
        var address = new IPEndPoint(IPAddress.Loopback, 80);
        var sockets = new InheritedSockets([new InheritedSocket(3, "a") { EndPoint = address }]);
        Assert.Equal(3, sockets.Take(address)?.Descriptor);
        Assert.Equal(3, sockets.Take(address)?.Descriptor);
    }
}
