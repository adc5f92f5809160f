namespace Millrace.StaticFiles.Planning;

/// <summary>The fields that a plan can add.</summary>
internal enum PlanFieldName : byte
{
    Allow,
    Location,
    ContentRange,
    WwwAuthenticate,
    RetryAfter,
    Vary,
    AccessControlAllowOrigin,
    ContentSecurityPolicy,
}

internal static class PlanFieldNames
{
    public static ReadOnlySpan<byte> Text(this PlanFieldName name) => name switch
    {
        PlanFieldName.Allow => "Allow"u8,
        PlanFieldName.Location => "Location"u8,
        PlanFieldName.ContentRange => "Content-Range"u8,
        PlanFieldName.WwwAuthenticate => "WWW-Authenticate"u8,
        PlanFieldName.RetryAfter => "Retry-After"u8,
        PlanFieldName.Vary => "Vary"u8,
        PlanFieldName.AccessControlAllowOrigin => "Access-Control-Allow-Origin"u8,
        PlanFieldName.ContentSecurityPolicy => "Content-Security-Policy"u8,
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such field."),
    };
}
