namespace Millrace.Engine.Connections;

/// <summary>What has come to an end of a connection's, so that it gets on.</summary>
[Flags]
internal enum Occasion : byte
{
    Received = 1,
    Sent = 2,
    Either = Received | Sent,
}
