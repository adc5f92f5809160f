namespace Millrace.AspNetCore.Transport;

/// <summary>What one address was told, as it was when it was bound. A buffer of 0 bytes has no bound.</summary>
internal sealed record EndPointSettings(
    int Backlog,
    bool NoDelay,
    long ReadBufferBytesMax,
    long WriteBufferBytesMax,
    TransportScheduling Scheduling,
    bool FinOnError);
