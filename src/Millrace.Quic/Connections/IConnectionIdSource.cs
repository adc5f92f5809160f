using Millrace.Quic.Packets;

namespace Millrace.Quic.Connections;

/// <summary>Makes connection ids that no other connection of an endpoint has, and routes packets by them. The endpoint is one.</summary>
internal interface IConnectionIdSource
{
    /// <summary>A new id of this endpoint, which is routed to the connection from now on, and its stateless reset token.</summary>
    ConnectionId Create(QuicConnection connection, out UInt128 resetToken);

    /// <summary>The id is not routed any more.</summary>
    void Retire(QuicConnection connection, in ConnectionId id);

    /// <summary>The peer's stateless resets end with this token: they come with no id of this endpoint.</summary>
    void AddResetToken(QuicConnection connection, UInt128 token);

    void RemoveResetToken(QuicConnection connection, UInt128 token);
}
