namespace Millrace.Http;

/// <summary>Quality values (RFC 9110 section 12.4.2) in thousandths.</summary>
internal static class Weight
{
    /// <summary>The weight of an element without one.</summary>
    public const int Max = 1000;

    /// <summary>Whether a parameter, <c>name=value</c>, is a weight, valid or not.</summary>
    public static bool IsWeight(ReadOnlySpan<byte> parameter)
        => parameter.Length >= 2 && (parameter[0] | 0x20) == 'q' && parameter[1] == '=';

    /// <summary>Reads <c>q=0.5</c>: 0 to 1 with up to three decimals.</summary>
    public static bool TryRead(ReadOnlySpan<byte> parameter, out int weight)
    {
        weight = 0;
        if (!IsWeight(parameter))
        {
            return false;
        }

        ReadOnlySpan<byte> value = parameter[2..];
        if (value.Length is < 1 or > 5 || value[0] is not ((byte)'0' or (byte)'1') || (value.Length > 1 && value[1] != '.'))
        {
            return false;
        }

        weight = (value[0] - '0') * Max;
        int unit = Max;
        for (int at = 2; at < value.Length; at++)
        {
            int digit = value[at] - '0';
            if (digit is < 0 or > 9)
            {
                return false;
            }

            unit /= 10;
            weight += digit * unit;
        }

        return weight <= Max;
    }
}
