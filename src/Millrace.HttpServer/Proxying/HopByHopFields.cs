using System.Text;
using Millrace.Http;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// The fields of one message that are for its connection only and are not passed on (RFC 9110, section 7.6.1): the known ones, and those
/// that its Connection field names. Refers to the message's memory.
/// </summary>
internal readonly ref struct HopByHopFields
{
    /// <summary>
    /// Elements of Connection, empty ones included: real messages have two, and each is compared with the name of each field.
    /// </summary>
    private const int OptionsMax = 32;

    private readonly ReadOnlySpan<FieldLine> _fields;
    private readonly ReadOnlySpan<byte> _bytes;

    /// <summary>Whether Connection names fields that are not known to be for one connection.</summary>
    private readonly bool _namesOthers;

    private HopByHopFields(ReadOnlySpan<FieldLine> fields, ReadOnlySpan<byte> bytes)
    {
        _fields = fields;
        _bytes = bytes;
        int options = 0;
        foreach (ref readonly FieldLine line in fields)
        {
            if (line.Name != FieldName.Connection)
            {
                continue;
            }

            foreach (ReadOnlySpan<byte> option in new ElementList(line.Value.In(bytes)))
            {
                options++;
                HasUpgrade |= Words.EqualsIgnoreCase(option, "upgrade"u8);
                _namesOthers |= !option.IsEmpty && !IsKnown(option) && !Words.EqualsIgnoreCase(option, "close"u8);
                if (options > OptionsMax)
                {
                    IsTooLong = true;
                    return;
                }
            }
        }
    }

    /// <summary>Whether Connection asks for another protocol.</summary>
    public bool HasUpgrade { get; }

    /// <summary>Whether Connection has so many elements that they are not compared: the message must not be passed on.</summary>
    public bool IsTooLong { get; }

    public static HopByHopFields Of(ReadOnlySpan<FieldLine> fields, ReadOnlySpan<byte> bytes) => new(fields, bytes);

    public bool Contains(ReadOnlySpan<byte> name) => IsKnown(name) || (_namesOthers && IsNamed(name));

    /// <summary>
    /// Whether a field is for one connection in every message. Trailer is not: it describes the trailers, which are passed on.
    /// </summary>
    public static bool IsKnown(ReadOnlySpan<byte> name) => name.Length switch
    {
        2 => Words.EqualsIgnoreCase(name, "te"u8),
        7 => Words.EqualsIgnoreCase(name, "upgrade"u8),
        10 => Words.EqualsIgnoreCase(name, "connection"u8) || Words.EqualsIgnoreCase(name, "keep-alive"u8),
        14 => Words.EqualsIgnoreCase(name, "http2-settings"u8),
        16 => Words.EqualsIgnoreCase(name, "proxy-connection"u8),
        17 => Words.EqualsIgnoreCase(name, "transfer-encoding"u8),
        18 => Words.EqualsIgnoreCase(name, "proxy-authenticate"u8),
        19 => Words.EqualsIgnoreCase(name, "proxy-authorization"u8),
        _ => false,
    };

    private bool IsNamed(ReadOnlySpan<byte> name)
    {
        foreach (ref readonly FieldLine line in _fields)
        {
            if (line.Name != FieldName.Connection)
            {
                continue;
            }

            foreach (ReadOnlySpan<byte> option in new ElementList(line.Value.In(_bytes)))
            {
                if (option.Length == name.Length && Ascii.EqualsIgnoreCase(option, name))
                {
                    return true;
                }
            }
        }

        return false;
    }
}
