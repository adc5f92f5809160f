using System.Buffers;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Engine.Filters;

/// <summary>Parses addresses as protocols define them: .NET also accepts <c>1</c>, <c>0x7f.1</c> and scopes.</summary>
internal static class AddressText
{
    /// <summary>The longest form: an IPv6 address that ends with an IPv4 one.</summary>
    private const int CharactersMax = 45;

    private static readonly SearchValues<byte> IPv4Bytes = SearchValues.Create("0123456789."u8);
    private static readonly SearchValues<byte> IPv6Bytes = SearchValues.Create("0123456789abcdefABCDEF:."u8);

    public static IPAddress? Parse(ReadOnlySpan<byte> text)
    {
        bool isIPv4 = text.Count((byte)'.') == 3 && !text.ContainsAnyExcept(IPv4Bytes);
        bool isIPv6 = text.Contains((byte)':') && !text.ContainsAnyExcept(IPv6Bytes);
        if (text.Length > CharactersMax || !(isIPv4 || isIPv6))
        {
            return null;
        }

        Span<char> characters = stackalloc char[CharactersMax];
        int count = Encoding.ASCII.GetChars(text, characters);
        AddressFamily wanted = isIPv4 ? AddressFamily.InterNetwork : AddressFamily.InterNetworkV6;
        return IPAddress.TryParse(characters[..count], out IPAddress? address) && address.AddressFamily == wanted ? address : null;
    }
}
