namespace Millrace.StaticFiles.Rules;

/// <summary>What a rule does to the fields of an answer.</summary>
internal readonly record struct FieldEdit(FieldEditKind Kind, Field Field)
{
    /// <summary>
    /// Fields whose value is a list, where what two blocks of <c>_headers</c> say holds together. Not Cache-Control and
    /// Content-Security-Policy, lists by their grammar: who writes them for some paths means to replace what all paths have.
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
    /// <summary>The field takes the place of all of its name.</summary>
    Replace,

    /// <summary>Its value goes behind that of the field of its name, if there is one.</summary>
    Join,

    /// <summary>The field is one more line: what Set-Cookie needs, whose values hold commas (RFC 9110, section 5.3).</summary>
    Add,

    /// <summary>No field of its name is sent.</summary>
    Remove,
}
