using System.Security.Cryptography;
using Millrace.HttpServer.Proxying;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>The hash of the handshake of WebSockets, beside .NET's.</summary>
public class Sha1Tests
{
    [Fact]
    public void A_message_of_each_length_has_the_hash_that_others_make()
    {
        byte[] message = new byte[Sha1.MessageBytesMax];
        new Random(1).NextBytes(message);
        for (int bytes = 0; bytes <= message.Length; bytes++)
        {
            byte[] hash = new byte[Sha1.HashBytes];
            Sha1.Hash(message.AsSpan(0, bytes), hash);
#pragma warning disable CA5350 // It is what the protocol of WebSockets has.
            Assert.Equal(SHA1.HashData(message.AsSpan(0, bytes)), hash);
#pragma warning restore CA5350
        }
    }
}
