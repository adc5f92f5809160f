using System.Buffers;
using System.Text.Json;

namespace Millrace.Arena;

/// <summary>
/// Serializes the first items of the dataset, each with its total, again for each request. One per reactor, whose memory is reused: what
/// <see cref="Write"/> returns is valid until the next call.
/// </summary>
internal sealed class JsonPage(Item[] items)
{
    private static readonly JsonEncodedText ItemsName = JsonEncodedText.Encode("items");
    private static readonly JsonEncodedText Count = JsonEncodedText.Encode("count");
    private static readonly JsonEncodedText Id = JsonEncodedText.Encode("id");
    private static readonly JsonEncodedText Name = JsonEncodedText.Encode("name");
    private static readonly JsonEncodedText Category = JsonEncodedText.Encode("category");
    private static readonly JsonEncodedText Price = JsonEncodedText.Encode("price");
    private static readonly JsonEncodedText Quantity = JsonEncodedText.Encode("quantity");
    private static readonly JsonEncodedText Active = JsonEncodedText.Encode("active");
    private static readonly JsonEncodedText Tags = JsonEncodedText.Encode("tags");
    private static readonly JsonEncodedText RatingName = JsonEncodedText.Encode("rating");
    private static readonly JsonEncodedText Score = JsonEncodedText.Encode("score");
    private static readonly JsonEncodedText Total = JsonEncodedText.Encode("total");

    private readonly ArrayBufferWriter<byte> _bytes = new(16 * 1024);
    private Utf8JsonWriter? _writer;

    public ReadOnlySpan<byte> Write(int count, int multiplier)
    {
        _bytes.ResetWrittenCount();
        Utf8JsonWriter writer = _writer ??= new Utf8JsonWriter(_bytes, new JsonWriterOptions { SkipValidation = true });
        writer.Reset(_bytes);
        int written = Math.Clamp(count, 0, items.Length);
        writer.WriteStartObject();
        writer.WriteStartArray(ItemsName);
        foreach (Item item in items.AsSpan(0, written))
        {
            WriteItem(writer, item, multiplier);
        }

        writer.WriteEndArray();
        writer.WriteNumber(Count, written);
        writer.WriteEndObject();
        writer.Flush();
        return _bytes.WrittenSpan;
    }

    private static void WriteItem(Utf8JsonWriter writer, Item item, int multiplier)
    {
        writer.WriteStartObject();
        writer.WriteNumber(Id, item.Id);
        writer.WriteString(Name, item.Name);
        writer.WriteString(Category, item.Category);
        writer.WriteNumber(Price, item.Price);
        writer.WriteNumber(Quantity, item.Quantity);
        writer.WriteBoolean(Active, item.Active);
        writer.WriteStartArray(Tags);
        foreach (string tag in item.Tags)
        {
            writer.WriteStringValue(tag);
        }

        writer.WriteEndArray();
        writer.WriteStartObject(RatingName);
        writer.WriteNumber(Score, item.Rating.Score);
        writer.WriteNumber(Count, item.Rating.Count);
        writer.WriteEndObject();
        writer.WriteNumber(Total, (long)item.Price * item.Quantity * multiplier);
        writer.WriteEndObject();
    }
}
