using System.Net;
using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Server;
using Millrace.Server.Configuration;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Addresses to listen on and hosts with their folders, as the command line has them.</summary>
internal sealed class AddressTarget : FuzzTarget
{
    public override string Name => "address";

    public override int InputBytesMax => 160;

    public override int OutcomesMin => 5;

    public override IReadOnlyList<string> Words =>
    [
        "8080", "65535", "65536", ":", "127.0.0.1", "[::1]", "::", "[", "]", "unix:", "unix:/run/a.sock", "0x7f.1", "%eth0",
        "example.org=./a", "*.", "=", "./", "é", "\0", " ", "-1", "+1",
    ];

    public override byte[] Generate(Random random) => Utf8(random.Next(6) switch
    {
        0 => $"{random.Next(70_000)}",
        1 => $"127.0.0.{random.Next(300)}:{random.Next(70_000)}",
        2 => $"[::{random.Next(70_000):x}]:{random.Next(70_000)}",
        3 => $"unix:/run/{new string('x', random.Next(120))}",
        4 => $"*.example.org=./{random.Next(9)}",
        _ => $"example{random.Next(9)}.org=",
    });

    public override string Check(ReadOnlySpan<byte> input)
    {
        string text = Encoding.UTF8.GetString(input);
        bool isAddress = ListenAddress.TryParse(text, out EndPoint? endPoint);
        Require(isAddress == endPoint is not null, "an address that is none");
        if (endPoint is IPEndPoint ip)
        {
            Require(ListenAddress.TryParse($"{ip}", out EndPoint? again) && again.Equals(ip), $"{ip} written anew is {again}");
        }

        bool isHost = HostedSite.TryParse(text, out HostedSite? host, out _);
        string root = text[(text.IndexOf('=', StringComparison.Ordinal) + 1)..];
        Require(!isHost || (host!.Site.Root == root && root.Length > 0 && host.Name.All(char.IsAscii)), $"{host} is not what was written");
        bool isAscii = isHost && text[..^(root.Length + 1)].All(char.IsAscii);
        Require(!isAscii || text == $"{host!.Name}={root}", $"{host} is not what was written in ASCII");
        return $"{endPoint?.GetType().Name} {endPoint?.AddressFamily} {isHost}";
    }
}
