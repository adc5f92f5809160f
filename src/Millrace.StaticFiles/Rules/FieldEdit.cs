namespace Millrace.StaticFiles.Rules;

/// <summary>The effect of a rule on the fields of a response.</summary>
internal readonly record struct FieldEdit(FieldEditKind Kind, Field Field)
{
    /// <summary>
    /// Fields with a list value, for which the values of two blocks of <c>_headers</c> are joined. Cache-Control and
    /// Content-Security-Policy, although lists by their grammar, are not among them: a rule for some paths is meant to replace the one for
    /// all paths.
    /// </summary>
    private static readonly string[] Lists =
    [
        "Accept-CH", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Expose-Headers",
        "Clear-Site-Data", "Link", "Server-Timing", "Timing-Allow-Origin", "Vary", "X-Robots-Tag",
    ];

    /// <summary>A field of a block of <c>_headers</c>.</summary>
    public static FieldEdit OfBlock(Field field)
    {
        FieldEditKind kind = field.Is("Set-Cookie") ? FieldEditKind.Add
            : Array.Exists(Lists, field.Is) ? FieldEditKind.Join
            : FieldEditKind.Replace;
        return new FieldEdit(kind, field);
    }

    /// <summary>A field of an option.</summary>
    public static FieldEdit OfOption(Field field) => new(FieldEditKind.Replace, field);
}

internal enum FieldEditKind : byte
{
    /// <summary>The field replaces all fields of its name.</summary>
    Replace,

    /// <summary>Its value is appended to that of the field of its name, if there is one.</summary>
    Join,

    /// <summary>The field is an additional line: needed for Set-Cookie, whose values contain commas (RFC 9110, section 5.3).</summary>
    Add,

    /// <summary>No field of its name is sent.</summary>
    Remove,
}
