using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Tls.Tests.Kit;

/// <summary>HTTP as far as these tests need it: <c>GET /N</c> is answered with N bytes of a pattern, <c>GET /session</c> with what was agreed on.</summary>
internal static class WebHandler
{
    public static async Task ServeAsync(Connection connection)
    {
        while (true)
        {
            int end = connection.Input.IndexOf("\r\n\r\n"u8);
            if (end < 0)
            {
                if (await connection.ReadIdleAsync() != ReadOutcome.Data)
                {
                    return;
                }

                continue;
            }

            string head = Encoding.ASCII.GetString(connection.Input[..end]);
            connection.Consume(end + 4);
            string target = head.Split(' ')[1];
            byte[] body = target == "/session" ? Encoding.ASCII.GetBytes(Describe(connection))
                : Pattern.Make(0, int.Parse(target[1..], CultureInfo.InvariantCulture));
            connection.Write(Encoding.ASCII.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: {body.Length}\r\n\r\n"));
            connection.Write(body);
            if (head.Contains("Connection: close", StringComparison.OrdinalIgnoreCase))
            {
                return;
            }

            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return;
            }
        }
    }

    private static string Describe(Connection connection)
    {
        TlsSession session = connection.GetTlsSession()!;
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{session.Protocol} {session.CipherSuite} group={session.KeyExchangeGroup} alpn={session.ApplicationProtocol} sni={session.ServerName} resumed={session.IsResumed} ")
            + $"client={session.ClientCertificate.Length}\n";
    }
}
