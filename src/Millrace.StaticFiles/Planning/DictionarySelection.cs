using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides whether a response may depend on a dictionary of the client, and whether it may become one (RFC 9842). Pure; allocates nothing.
/// The caller has asked that everybody may see the file.
/// </summary>
internal static class DictionarySelection
{
    /// <summary>
    /// The variants of a file for the dictionary that the client has; none if they may not be sent: not without TLS (section 8), and not to
    /// another origin's page, which could learn the content by its size (section 9.3).
    /// </summary>
    public static DictionaryVariants Find(scoped in PlanRequest request, Asset file, FieldSet fields, PlanScratch scratch) =>
        !request.Dictionary.Available.IsEmpty && request.Dictionary.IsHttps && file.Dictionary is { } dictionary
            ? Find(request, dictionary, fields, scratch)
            : default;

    /// <summary>
    /// Adds the fields by which a file becomes a dictionary, or names that of the pages; null for a response that may not have them.
    /// </summary>
    public static void Advertise(
        scoped in PlanRequest request, Asset? file, FieldSet fields, PageDictionaries? pages, PlanScratch scratch)
    {
        if (file?.Dictionary is not { } dictionary || !request.Dictionary.IsHttps)
        {
            return;
        }

        if (!dictionary.UseAs.IsEmpty)
        {
            Advertise(request, dictionary.UseAs, fields, scratch);
        }

        if (dictionary.IsPage && IsReadable(request, fields, scratch) && pages?.Linked is { } page)
        {
            scratch.Add(PlanFieldName.Link, page.Link);
        }
    }

    /// <summary>Adds the field by which a response over HTTPS becomes a dictionary, if it may.</summary>
    public static void Advertise(scoped in PlanRequest request, scoped ReadOnlySpan<byte> useAs, FieldSet fields, PlanScratch scratch)
    {
        if (IsFreshLater(fields) && IsReadable(request, fields, scratch))
        {
            scratch.Add(PlanFieldName.UseAsDictionary, useAs);
        }
    }

    private static DictionaryVariants Find(
        scoped in PlanRequest request, AssetDictionary dictionary, FieldSet fields, PlanScratch scratch)
    {
        Span<byte> hash = stackalloc byte[AvailableDictionary.HashBytes];
        return AvailableDictionary.TryRead(request.Dictionary.Available, hash) && IsReadable(request, fields, scratch)
            ? dictionary.VariantsFor(DictionaryHash.Read(hash))
            : default;
    }

    /// <summary>
    /// Whether the page that requests it may read it anyway: of the same origin, a navigation, or allowed by CORS. Clients other than
    /// browsers do not say. Stricter than the RFC where a browser says the site and not the mode.
    /// </summary>
    private static bool IsReadable(scoped in PlanRequest request, FieldSet fields, PlanScratch scratch)
    {
        ReadOnlySpan<byte> mode = request.Dictionary.SecFetchMode;
        return request.Dictionary.SecFetchSite.IsEmpty
            || request.Dictionary.SecFetchSite.SequenceEqual("same-origin"u8)
            || mode.SequenceEqual("navigate"u8)
            || mode.SequenceEqual("same-origin"u8)
            || (mode.SequenceEqual("cors"u8) && !request.Origin.IsEmpty && AllowsOrigin(request.Origin, fields, scratch));
    }

    private static bool AllowsOrigin(scoped ReadOnlySpan<byte> origin, FieldSet fields, PlanScratch scratch)
    {
        foreach (PlanField field in scratch.Fields)
        {
            if (field.Name == PlanFieldName.AccessControlAllowOrigin)
            {
                return scratch.ValueOf(field).SequenceEqual(origin);
            }
        }

        return fields.Find("Access-Control-Allow-Origin") is { } allowed
            && (allowed.ValueBytes.SequenceEqual("*"u8) || allowed.ValueBytes.SequenceEqual(origin));
    }

    /// <summary>Whether clients may use the stored file without asking: a dictionary must be fresh (section 2.2.1).</summary>
    private static bool IsFreshLater(FieldSet fields)
    {
        if (fields.CacheControl is not { } control)
        {
            return false;
        }

        return control == CachePolicy.Immutable
            || (Has(control, "max-age="u8) && !Has(control, "max-age=0"u8) && !Has(control, "no-cache"u8) && !Has(control, "no-store"u8));
    }

    private static bool Has(Field control, ReadOnlySpan<byte> directive)
    {
        ReadOnlySpan<byte> value = control.ValueBytes;
        for (int at = 0; at + directive.Length <= value.Length; at++)
        {
            if (Ascii.EqualsIgnoreCase(value.Slice(at, directive.Length), directive))
            {
                return true;
            }
        }

        return false;
    }
}
