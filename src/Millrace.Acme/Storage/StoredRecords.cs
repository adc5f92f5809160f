using System.Text.Json;
using System.Text.Json.Serialization;

namespace Millrace.Acme.Storage;

/// <summary>What is known of the account with one authority (<c>account.json</c>). Its key is beside it. Immutable.</summary>
internal sealed record StoredAccount
{
    public required Uri Directory { get; init; }

    public required Uri Url { get; init; }

    /// <summary>When it took the place of one that the authority did not accept any more; null for the first.</summary>
    public DateTimeOffset? Replaced { get; init; }
}

/// <summary>An order under way (<c>order.json</c>), with all that another process needs to continue it. Immutable.</summary>
internal sealed record PendingOrder
{
    public required Uri Directory { get; init; }

    public required Uri Account { get; init; }

    /// <summary>Null while the authority is asked for it.</summary>
    public Uri? Order { get; init; }

    public required DateTimeOffset Begun { get; init; }

    public required IReadOnlyList<string> Names { get; init; }

    /// <summary>The attempts that the authority answered without bringing it forward.</summary>
    public int Fruitless { get; init; }

    /// <summary>The key of the certificate, in PEM.</summary>
    public required string PrivateKey { get; init; }

    /// <summary>Not in what a log may print.</summary>
    public override string ToString() => Order?.ToString() ?? "an order without URL";
}

/// <summary>When a certificate is renewed, and how earlier attempts went (<c>renewal.json</c>). Immutable.</summary>
internal sealed record RenewalState
{
    /// <summary>The authority that the certificate is from; null if that is not known.</summary>
    public Uri? Directory { get; init; }

    /// <summary>The account that the certificate was ordered by.</summary>
    public Uri? Account { get; init; }

    /// <summary>The names that the certificate was ordered for.</summary>
    public IReadOnlyList<string>? Names { get; init; }

    public DateTimeOffset? LastAttempt { get; init; }

    /// <summary>Not before; null unless the last attempt failed.</summary>
    public DateTimeOffset? NextAttempt { get; init; }

    public int Failures { get; init; }

    /// <summary>How many renewals in a row came within the first third of the replaced certificate's lifetime.</summary>
    public int EarlyRenewals { get; init; }

    public string? LastError { get; init; }

    /// <summary>See <see cref="AcmeCertificate.LastErrorType"/>.</summary>
    public string? LastErrorType { get; init; }

    /// <summary>The window that the authority suggests (RFC 9773); null if it suggests none.</summary>
    public DateTimeOffset? WindowStart { get; init; }

    public DateTimeOffset? WindowEnd { get; init; }

    /// <summary>When the authority is asked for the window again; null for now.</summary>
    public DateTimeOffset? AskAgain { get; init; }

    /// <summary>The types of challenges that failed, the latest last.</summary>
    public IReadOnlyList<string> FailedChallenges { get; init; } = [];
}

/// <summary>The process that holds the lock, and the names of all its certificates (<c>holder.json</c>). Immutable.</summary>
internal sealed record StoreHolder
{
    public required int Process { get; init; }

    public required string Machine { get; init; }

    public required IReadOnlyList<string> Names { get; init; }
}

/// <summary>Refuses URLs that nobody can follow.</summary>
internal sealed class AbsoluteUriConverter : JsonConverter<Uri>
{
    public override Uri Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.TokenType == JsonTokenType.String && Uri.TryCreate(reader.GetString(), UriKind.Absolute, out Uri? url)
            && (url.Scheme == Uri.UriSchemeHttps || url.Scheme == Uri.UriSchemeHttp)
            ? url
            : throw new JsonException("it has a URL that is not one");

    public override void Write(Utf8JsonWriter writer, Uri value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value.OriginalString);
}

[JsonSourceGenerationOptions(
    Converters = [typeof(AbsoluteUriConverter)],
    WriteIndented = true,
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    RespectNullableAnnotations = true)]
[JsonSerializable(typeof(StoredAccount))]
[JsonSerializable(typeof(PendingOrder))]
[JsonSerializable(typeof(RenewalState))]
[JsonSerializable(typeof(StoreHolder))]
internal sealed partial class StoredJson : JsonSerializerContext;
