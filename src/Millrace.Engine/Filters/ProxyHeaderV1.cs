using System.Buffers.Text;
using System.Net;
using System.Net.Sockets;

namespace Millrace.Engine.Filters;

/// <summary>Version 1 of the PROXY header: one line of text. <c>PROXY TCP4 192.0.2.1 198.51.100.1 56324 443</c></summary>
internal static class ProxyHeaderV1
{
    /// <summary>Distinguishes it from version 2.</summary>
    public const byte FirstByte = (byte)'P';

    /// <summary>The longest by the specification: two full IPv6 addresses, or an UNKNOWN followed by as much.</summary>
    private const int BytesMax = 107;

    private static ReadOnlySpan<byte> Start => "PROXY "u8;

    public static ProxyHeader Read(ReadOnlySpan<byte> bytes)
    {
        int compared = Math.Min(bytes.Length, Start.Length);
        if (!bytes[..compared].SequenceEqual(Start[..compared]))
        {
            return ProxyHeader.Malformed;
        }

        int end = bytes[..Math.Min(bytes.Length, BytesMax)].IndexOf("\r\n"u8);
        if (end < 0)
        {
            return bytes.Length < BytesMax ? ProxyHeader.Incomplete : ProxyHeader.Malformed;
        }

        return ReadLine(bytes[Start.Length..end], end + 2);
    }

    private static ProxyHeader ReadLine(ReadOnlySpan<byte> line, int bytes)
    {
        ReadOnlySpan<byte> family = Next(ref line);
        if (family.SequenceEqual("UNKNOWN"u8))
        {
            return new ProxyHeader(ProxyHeaderStatus.NoAddresses, bytes);
        }

        AddressFamily wanted = family.SequenceEqual("TCP4"u8) ? AddressFamily.InterNetwork
            : family.SequenceEqual("TCP6"u8) ? AddressFamily.InterNetworkV6
            : AddressFamily.Unspecified;
        IPAddress? source = AddressIn(Next(ref line), wanted);
        IPAddress? destination = AddressIn(Next(ref line), wanted);
        int sourcePort = PortIn(Next(ref line));
        int destinationPort = PortIn(line);
        return source is null || destination is null || sourcePort < 0 || destinationPort < 0
            ? ProxyHeader.Malformed
            : new ProxyHeader(
                ProxyHeaderStatus.Announced, bytes, new IPEndPoint(source, sourcePort), new IPEndPoint(destination, destinationPort));
    }

    /// <summary>The text up to the next space; fields are separated by exactly one.</summary>
    private static ReadOnlySpan<byte> Next(ref ReadOnlySpan<byte> line)
    {
        int space = line.IndexOf((byte)' ');
        ReadOnlySpan<byte> text = space < 0 ? line : line[..space];
        line = space < 0 ? default : line[(space + 1)..];
        return text;
    }

    private static IPAddress? AddressIn(ReadOnlySpan<byte> text, AddressFamily wanted) =>
        AddressText.Parse(text) is { } address && address.AddressFamily == wanted ? address : null;

    private static int PortIn(ReadOnlySpan<byte> text) =>
        !text.IsEmpty && !text.ContainsAnyExceptInRange((byte)'0', (byte)'9')
        && Utf8Parser.TryParse(text, out ushort port, out int read) && read == text.Length ? port : -1;
}
