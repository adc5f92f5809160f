using System.Diagnostics;
using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>An asset's header field values, which are the same in every response. Created on first use and cached with the asset.</summary>
internal sealed class AssetFields
{
    private readonly StringValues _entityTag;
    private readonly StringValues _lastModified;
    private readonly StringValues _vary;

    private AssetFields(Asset asset)
    {
        _entityTag = asset.EntityTag.IsEmpty ? default : new StringValues(Encoding.Latin1.GetString(asset.EntityTag));
        _lastModified = asset.LastModified == Validators.NoDate ? default : new StringValues(DateOf(asset.LastModified));
        _vary = !asset.IsNegotiable ? default
            : asset.MayUseDictionary ? ResponseFields.VaryByDictionary
            : ResponseFields.VaryByCoding;
        ContentEncoding = asset.Coding == ContentCoding.Identity
            ? default
            : new StringValues(Encoding.ASCII.GetString(ContentCodings.NameOf(asset.Coding)));
        ContentType = asset.ContentType.Value;
    }

    public StringValues ContentType { get; }

    public StringValues ContentEncoding { get; }

    /// <summary>Any thread: two racing threads create equal values, and one is dropped.</summary>
    public static AssetFields Of(Asset asset)
    {
        if (asset.HostedFields is AssetFields made)
        {
            return made;
        }

        var fields = new AssetFields(asset);

        // Not cached for a file that is opened for each request, as creating them costs little in comparison.
        if (!BodySource.IsOpenedOnDemand(asset))
        {
            asset.HostedFields = fields;
        }

        return fields;
    }

    /// <summary>Sets ETag and Last-Modified.</summary>
    public void SetValidators(IHeaderDictionary headers)
    {
        headers.ETag = _entityTag;
        headers.LastModified = _lastModified;
    }

    public void SetVary(IHeaderDictionary headers)
    {
        if (_vary.Count > 0)
        {
            ResponseFields.AddVary(headers, _vary);
        }
    }

    private static string DateOf(long seconds)
    {
        Span<byte> date = stackalloc byte[HttpDate.Bytes];
        bool written = HttpDate.TryWrite(seconds, date);
        Debug.Assert(written, "the catalogue gives no date that cannot be written");
        return Encoding.ASCII.GetString(date);
    }
}
