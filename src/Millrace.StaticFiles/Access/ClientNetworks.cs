using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// A set of clients: networks and addresses, "all", and "unix" for clients without an address. Immutable; a lookup allocates nothing.
/// </summary>
internal sealed class ClientNetworks
{
    private const int AddressBits = 128;
    private const int AddressBytes = 16;

    private readonly (UInt128 First, UInt128 Mask)[] _networks;
    private readonly bool _hasUnix;

    private ClientNetworks((UInt128 First, UInt128 Mask)[] networks, bool isAll, bool hasUnix) =>
        (_networks, IsAll, _hasUnix) = (networks, isAll, hasUnix);

    public bool IsAll { get; }

    /// <summary>Throws <see cref="SiteException"/> for a text that is none of these.</summary>
    public static ClientNetworks Parse(IReadOnlyList<string> texts)
    {
        if (texts.Count == 0)
        {
            throw new SiteException("The rule names no network.", "Write networks such as 10.0.0.0/8, or all.");
        }

        return new ClientNetworks(
            [.. texts.Where(static text => text is not ("all" or "unix")).Select(ParseNetwork)],
            texts.Contains("all"),
            texts.Contains("unix"));
    }

    /// <summary>Whether a client is in the set; null for one without an address.</summary>
    public bool Contains(IPAddress? client)
    {
        if (IsAll || client is null)
        {
            return IsAll || _hasUnix;
        }

        UInt128 address = NumberOf(client);
        foreach ((UInt128 first, UInt128 mask) in _networks)
        {
            if ((address & mask) == first)
            {
                return true;
            }
        }

        return false;
    }

    private static (UInt128 First, UInt128 Mask) ParseNetwork(string text)
    {
        int slash = text.IndexOf('/', StringComparison.Ordinal);
        string address = slash < 0 ? text : text[..slash];

        // IPAddress also accepts 10.1 and scopes, which are mistakes here.
        bool isAddress = IPAddress.TryParse(address, out IPAddress? parsed)
            && !address.Contains('%', StringComparison.Ordinal)
            && (parsed.AddressFamily == AddressFamily.InterNetworkV6 || parsed.ToString() == address);
        int bits = parsed?.AddressFamily == AddressFamily.InterNetwork ? 32 : AddressBits;
        int prefix = bits;
        bool isPrefix = slash < 0 || (byte.TryParse(text.AsSpan(slash + 1), out byte given) && (prefix = given) <= bits);
        if (!isAddress || !isPrefix)
        {
            throw new SiteException(
                $"'{FieldValidation.Shown(text)}' is not a network.", "Write 10.0.0.0/8, 2001:db8::/32, one address, all or unix.");
        }

        int hostBits = bits - prefix;
        UInt128 mask = hostBits == AddressBits ? UInt128.Zero : UInt128.MaxValue << hostBits;
        UInt128 first = NumberOf(parsed!);
        return (first & mask) == first
            ? (first, mask)
            : throw HasBitsAfterPrefix(text, parsed!, prefix);
    }

    /// <summary>The refusal of an address with a prefix that is not the first one of its network: a typing error in either.</summary>
    public static SiteException HasBitsAfterPrefix(string text, IPAddress address, int prefix)
    {
        byte[] bytes = address.GetAddressBytes();
        for (int bit = prefix; bit < 8 * bytes.Length; bit++)
        {
            bytes[bit / 8] &= (byte)~(0x80 >> (bit % 8));
        }

        return new SiteException(
            $"'{FieldValidation.Shown(text)}' has bits after its prefix.",
            string.Create(CultureInfo.InvariantCulture, $"Write {new IPAddress(bytes)}/{prefix}."));
    }

    /// <summary>An IPv4 address is its mapped form in IPv6, as sockets for both report it.</summary>
    private static UInt128 NumberOf(IPAddress address)
    {
        Span<byte> bytes = stackalloc byte[AddressBytes];
        bytes.Clear();
        if (address.AddressFamily == AddressFamily.InterNetwork)
        {
            bytes[10] = bytes[11] = 0xff;
            _ = address.TryWriteBytes(bytes[12..], out _);
        }
        else
        {
            _ = address.TryWriteBytes(bytes, out _);
        }

        return BinaryPrimitives.ReadUInt128BigEndian(bytes);
    }
}
