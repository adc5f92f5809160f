namespace Millrace.Http;

/// <summary>What answers refused fields.</summary>
internal static class FieldsRefusals
{
    /// <summary>Whether the request is malformed: its stream ends with PROTOCOL_ERROR, and no answer is owed.</summary>
    public static bool IsMalformed(FieldsRefusal refusal) => refusal is > FieldsRefusal.None and < FieldsRefusal.UnknownScheme;

    /// <summary>The status that answers a request which is well-formed, but not one for this server.</summary>
    public static int StatusOf(FieldsRefusal refusal) => refusal switch
    {
        FieldsRefusal.UnknownScheme or FieldsRefusal.MissingAuthority => 400,
        FieldsRefusal.PathTooLong => 414,
        FieldsRefusal.HeadTooLarge or FieldsRefusal.TooManyFields => 431,
        _ => throw new ArgumentOutOfRangeException(nameof(refusal), refusal, "Only refused fields that are not malformed are answered."),
    };
}
