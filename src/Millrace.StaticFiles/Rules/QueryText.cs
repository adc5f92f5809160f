using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>Reads the parameters of a query as sent: <c>name=value</c> separated by '&amp;', percent-encoded, '+' for a space.</summary>
internal static class QueryText
{
    /// <summary>Finds the first parameter with a decoded name, and the position of its raw value in the query.</summary>
    public static bool TryFind(ReadOnlySpan<byte> query, ReadOnlySpan<byte> name, out TextRange value)
    {
        int at = 0;
        while (TryNext(query, ref at, out TextRange parameterName, out value))
        {
            if (DecodesTo(parameterName.In(query), name))
            {
                return true;
            }
        }

        value = default;
        return false;
    }

    /// <summary>Reads the parameter at <paramref name="at"/>, which moves after it. False at the end.</summary>
    public static bool TryNext(ReadOnlySpan<byte> query, ref int at, out TextRange name, out TextRange value)
    {
        name = value = default;
        if (at >= query.Length)
        {
            return false;
        }

        int ampersand = query[at..].IndexOf((byte)'&');
        int end = ampersand < 0 ? query.Length : at + ampersand;
        int equals = query[at..end].IndexOf((byte)'=');
        name = TextRange.Between(at, equals < 0 ? end : at + equals);
        value = TextRange.Between(equals < 0 ? end : at + equals + 1, end);
        at = end + 1;
        return true;
    }

    /// <summary>Whether a raw name or value decodes to these bytes.</summary>
    public static bool DecodesTo(ReadOnlySpan<byte> raw, ReadOnlySpan<byte> decoded) => DecodesTo(raw, decoded, isPath: false);

    /// <summary>Whether an encoded path, in which '+' is literal, decodes to these bytes.</summary>
    public static bool PathDecodesTo(ReadOnlySpan<byte> raw, ReadOnlySpan<byte> decoded) => DecodesTo(raw, decoded, isPath: true);

    public static byte[] DecodePath(byte[] raw)
    {
        var decoded = new List<byte>(raw.Length);
        for (int at = 0; at < raw.Length;)
        {
            decoded.Add(raw[at] == '+' ? raw[at++] : NextDecoded(raw, ref at));
        }

        return [.. decoded];
    }

    private static bool DecodesTo(ReadOnlySpan<byte> raw, ReadOnlySpan<byte> decoded, bool isPath)
    {
        int at = 0;
        foreach (byte expected in decoded)
        {
            if (at == raw.Length || (isPath && raw[at] == '+' ? raw[at++] : NextDecoded(raw, ref at)) != expected)
            {
                return false;
            }
        }

        return at == raw.Length;
    }

    /// <summary>Decodes the next byte at <paramref name="at"/>. A '%' without two digits is literal.</summary>
    public static byte NextDecoded(ReadOnlySpan<byte> raw, ref int at)
    {
        byte value = raw[at++];
        if (value == '+')
        {
            return (byte)' ';
        }

        int decoded = value == '%' ? PercentEncoding.ByteAt(raw, at - 1) : -1;
        at += decoded < 0 ? 0 : 2;
        return decoded < 0 ? value : (byte)decoded;
    }
}
