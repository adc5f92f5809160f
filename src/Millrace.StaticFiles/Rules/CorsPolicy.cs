using System.Buffers;
using System.Globalization;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The responses of <see cref="CorsOptions"/> (Fetch standard, section 3.3). If one origin, or any, is allowed, the fields are the same for
/// all requests and part of the rules' field sets. If several are allowed, the planner echoes the request's origin, and the sets have
/// <c>Vary: Origin</c>.
/// </summary>
internal sealed class CorsPolicy
{
    private static readonly SearchValues<char> NeverInOrigins = SearchValues.Create("*?#@\\, ");

    private readonly byte[][] _origins;

    public CorsPolicy(CorsOptions options)
    {
        string[] origins = [.. options.Origins.Select(Normalize).Distinct(StringComparer.Ordinal)];
        _origins = [.. origins.Select(Encoding.ASCII.GetBytes)];
        DependsOnOrigin = origins.Length > 1;
        Field origin = DependsOnOrigin
            ? new Field("Vary", "Origin")
            : new Field("Access-Control-Allow-Origin", origins[0]);

        // All fields: the server cannot know which of them a script needs (Content-Range, ETag), and none is secret.
        Fields = [origin, new Field("Access-Control-Expose-Headers", "*")];
        Preflight = new FieldSet(
        [
            origin,
            new Field("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),

            // The asterisk covers all fields but Authorization, which must be named (Fetch standard, section 3.3.4).
            new Field("Access-Control-Allow-Headers", "*, Authorization"),
            new Field("Access-Control-Max-Age", options.MaxAgeSeconds.ToString(CultureInfo.InvariantCulture)),
        ]);
    }

    /// <summary>Whether <see cref="TryAllow"/> must be called for each request.</summary>
    public bool DependsOnOrigin { get; }

    public IReadOnlyList<Field> Fields { get; }

    /// <summary>The fields of the 204 to a preflight: OPTIONS with Origin and Access-Control-Request-Method.</summary>
    public FieldSet Preflight { get; }

    /// <summary>
    /// If <see cref="DependsOnOrigin"/>: the value of Access-Control-Allow-Origin for a request's Origin; false for an origin that is not
    /// listed, whose response has no such field.
    /// </summary>
    public bool TryAllow(ReadOnlySpan<byte> origin, out ReadOnlySpan<byte> allowed)
    {
        foreach (byte[] listed in _origins)
        {
            if (origin.SequenceEqual(listed))
            {
                allowed = listed;
                return true;
            }
        }

        allowed = default;
        return false;
    }

    /// <summary>Throws <see cref="SiteException"/> for an origin that cannot be listed.</summary>
    public static void CheckOrigin(string origin)
    {
        if (origin == "*")
        {
            return;
        }

        if (!UrlHost.TryEncode(origin, out origin!, out string? reason))
        {
            throw new SiteException(
                $"'{FieldValidation.Shown(origin)}' is not an origin: {reason}.",
                "Write the A-labels of its host (xn--...), as browsers send it.");
        }

        bool isOrigin = Uri.TryCreate(origin, UriKind.Absolute, out Uri? uri)
            && uri.Scheme.Length > 0
            && uri.Host.Length > 0
            && Ascii.IsValid(origin)
            && !origin.AsSpan().ContainsAny(NeverInOrigins)
            && origin.TrimEnd('/').Length == origin.Length
            && uri.AbsolutePath is "/" or ""
            && uri.Query.Length == 0;
        if (!isOrigin)
        {
            throw new SiteException(
                $"'{FieldValidation.Shown(origin)}' is not an origin.",
                "Write scheme and host, such as https://app.example, or * alone for any.");
        }
    }

    /// <summary>The form that browsers send: lower case, and no port if it is the scheme's default (RFC 6454, section 6.2).</summary>
    private static string Normalize(string origin)
    {
        if (origin == "*")
        {
            return origin;
        }

        _ = UrlHost.TryEncode(origin, out origin!, out _);
        var uri = new Uri(origin, UriKind.Absolute);
        return uri.IsDefaultPort ? $"{uri.Scheme}://{uri.Host}" : $"{uri.Scheme}://{uri.Host}:{uri.Port}";
    }
}
