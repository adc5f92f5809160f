namespace Millrace.Http;

/// <summary>
/// Checks a single field of a request by RFC 9113 sections 8.2.1 and 8.2.2, except pseudo-fields. Beyond these sections it is as strict as
/// with HTTP/1.1: names are tokens, and values have no control characters.
/// </summary>
internal static class FieldRules
{
    /// <param name="name">The name.</param>
    /// <param name="value">The value.</param>
    /// <param name="staticIndex">The index of the name in the static table, all of whose names are valid; otherwise 0.</param>
    public static FieldsRefusal Judge(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (staticIndex == 0 && (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.LowerToken)))
        {
            return name.ContainsAnyInRange((byte)'A', (byte)'Z') ? FieldsRefusal.UpperCaseName : FieldsRefusal.BadFieldName;
        }

        if (value.ContainsAnyExcept(ByteClasses.FieldValue) || HasWhitespaceAround(value))
        {
            return FieldsRefusal.BadFieldValue;
        }

        bool isForConnection = ConnectionFields.Contains(name)
            || (name.SequenceEqual("te"u8) && !Words.EqualsIgnoreCase(value, "trailers"u8));
        return isForConnection ? FieldsRefusal.ConnectionField : FieldsRefusal.None;
    }

    private static bool HasWhitespaceAround(ReadOnlySpan<byte> value)
        => !value.IsEmpty && (value[0] is (byte)' ' or (byte)'\t' || value[^1] is (byte)' ' or (byte)'\t');
}
