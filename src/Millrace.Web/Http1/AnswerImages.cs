using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Rules;
using Millrace.Web.Bodies;

namespace Millrace.Web.Http1;

/// <summary>
/// Whole answers, head and body in one piece, of what a reactor is asked for again and again: they are sent from where they lie, all from
/// the same lines of the cache, where each answer would be put together in memory of its own. An image is good for as long as its Date is.
/// Whatever is asked for once in that second is put together as ever. Reactor thread only.
/// </summary>
internal sealed class AnswerImages : IDisposable
{
    /// <summary>Below it nothing is gained: in answers to pipelined requests one part is cheaper than many.</summary>
    private const int BytesLeast = 4 * 1024;

    /// <summary>Of 16 KiB at most: 2 MiB a reactor, where as many assets are hot.</summary>
    private const int Places = 128;

    private readonly Place[] _places = new Place[Places];

    /// <summary>Whether answers with all of it are worth an image: they would be copied together, and are not small.</summary>
    public static bool AreFor(Asset asset) =>
        asset.Strategy == BodyStrategy.Baked && asset.Size is >= BytesLeast and <= BodySend.CopiedBytesMax;

    /// <summary>
    /// The image of an answer. One that is not <see cref="AnswerImage.IsWritten"/> is for the caller to write. Null the first time that it
    /// is asked for in its time, or where who sends the one before still reads its memory.
    /// </summary>
    /// <param name="asset">What is answered with: all of it, with status 200.</param>
    /// <param name="fields">The fields that rules add.</param>
    /// <param name="dateStamp">Which Date; see <see cref="Heads.DateField.StampAt"/>.</param>
    /// <param name="bytesMax">Room that head and body need at most.</param>
    public AnswerImage? Find(Asset asset, FieldSet fields, long dateStamp, int bytesMax)
    {
        ref Place place = ref _places[IndexOf(asset)];
        if (place.Asset != asset || place.Fields != fields || place.DateStamp != dateStamp)
        {
            place.Asset = asset;
            place.Fields = fields;
            place.DateStamp = dateStamp;
            place.Image?.Expire();
            return null;
        }

        if (place.Image is { IsWritten: false, IsOwn: false })
        {
            // Who takes its last version slowly reads it still. One memory is enough for a place.
            return null;
        }

        if (place.Image is null || (!place.Image.IsWritten && place.Image.Room.Length < bytesMax))
        {
            var larger = new AnswerImage(bytesMax);
            place.Image?.Release();
            place.Image = larger;
        }

        return place.Image;
    }

    public void Dispose()
    {
        foreach (ref Place place in _places.AsSpan())
        {
            place.Image?.Release();
            place = default;
        }
    }

    /// <summary>By its memory: no two assets have the same at one time.</summary>
    private static unsafe int IndexOf(Asset asset)
    {
        const ulong GoldenRatio = 0x9E37_79B9_7F4A_7C15;
        const int Shift = 64 - 7;
        return (int)(((ulong)asset.BakedBodyAddress * GoldenRatio) >> Shift);
    }

    private struct Place
    {
        public Asset? Asset;
        public FieldSet? Fields;
        public long DateStamp;
        public AnswerImage? Image;
    }
}
